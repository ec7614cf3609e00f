# SPDX-License-Identifier: Apache-2.0
# What --version says of a tree without git. Run as: cmake -D source=DIR -D folder=DIR -P tests/version_test.cmake
file(REMOVE_RECURSE ${folder})
file(MAKE_DIRECTORY ${folder}/src)
file(COPY ${source}/cmake DESTINATION ${folder})
file(WRITE ${folder}/CMakeLists.txt "project(x)\n")
file(WRITE ${folder}/src/a.cpp "int a;\n")

function(revision result)
  execute_process(COMMAND ${CMAKE_COMMAND} -D source=${folder} -D out=${folder}/version.h -D version=1.2.3 -P ${folder}/cmake/version.cmake
    COMMAND_ERROR_IS_FATAL ANY)
  file(STRINGS ${folder}/version.h line REGEX "git_revision")
  string(REGEX REPLACE ".*\"(.*)\".*" "\\1" line "${line}")
  set(${result} "${line}" PARENT_SCOPE)
endfunction()

# Text that git's archive has filled in is taken for the working tree's here, for this may itself be an archive.
file(WRITE ${folder}/cmake/archived_revision.txt "commit $Format:%H$\n")
revision(plain)
revision(again)
file(WRITE ${folder}/src/a.cpp "int b;\n")
revision(edited)
file(WRITE ${folder}/cmake/archived_revision.txt "commit 0123456789abcdef0123456789abcdef01234567\n")
revision(archive)
if(NOT plain MATCHES "^tree [0-9a-f]+$" OR NOT plain STREQUAL again OR plain STREQUAL edited)
  message(FATAL_ERROR "of a tree: '${plain}', again '${again}', edited '${edited}'")
endif()
if(NOT archive MATCHES "^archive of 0123456789ab, tree [0-9a-f]+$")
  message(FATAL_ERROR "of an archive: '${archive}'")
endif()
