# SPDX-License-Identifier: Apache-2.0
# Golden files are kept packed. cachalot_golden(NAME.tar.xz) unpacks tests/golden/NAME.tar.xz into <build>/golden while
# configuring, and again when the archive changes; tests find it under CACHALOT_BUILD_DIR.
function(cachalot_golden archive)
  set(packed ${CMAKE_SOURCE_DIR}/tests/golden/${archive})
  set(stamp ${CMAKE_BINARY_DIR}/golden/${archive}.sha256)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${packed})
  file(SHA256 ${packed} hash)
  if(EXISTS ${stamp})
    file(READ ${stamp} unpacked)
    if(unpacked STREQUAL hash)
      return()
    endif()
  endif()
  message(STATUS "Unpacking ${archive}")
  file(ARCHIVE_EXTRACT INPUT ${packed} DESTINATION ${CMAKE_BINARY_DIR}/golden)
  file(WRITE ${stamp} ${hash})
endfunction()

cachalot_golden(mini-a.tar.xz)     # mini-a/: a tiny checkpoint with its cases
cachalot_golden(operators.tar.xz)  # ops-a/, engram/, prototype/
cachalot_golden(released_tokenizer/tokenizer.tar.xz)  # released_tokenizer/tokenizer.json
