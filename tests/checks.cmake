# SPDX-License-Identifier: Apache-2.0
# The rules of docs/style.md that a script can judge. Exit code 77 means: could not be judged here.
file(GLOB checks CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tools/check_*)
foreach(check ${checks})
  get_filename_component(name ${check} NAME_WE)
  string(REPLACE "check_" "check." name ${name})
  add_test(NAME ${name} COMMAND ${check} ${CMAKE_SOURCE_DIR})
  set_tests_properties(${name} PROPERTIES LABELS fast SKIP_RETURN_CODE 77)
endforeach()
add_test(NAME check.self_test COMMAND ${CMAKE_SOURCE_DIR}/tools/checks_test.py)
set_tests_properties(check.self_test PROPERTIES LABELS fast)
