# SPDX-License-Identifier: Apache-2.0
# Writes generated/version.h at every build, touching it only when its text changes, so that a new commit costs one recompiled file.
# The revision is git's. Without git it is a hash of the sources that are there, so that two builds can be told to be of one tree,
# and where it is an archive also what cmake/archived_revision.txt says (`git archive` fills it in).
# Run by the target version_header as: cmake -D source=DIR -D out=FILE -D version=X.Y.Z -P cmake/version.cmake
if(CMAKE_SCRIPT_MODE_FILE)
  set(revision "")
  find_program(git git)
  if(git)
    # A source archive unpacked inside somebody else's repository must not take that repository's revision.
    execute_process(COMMAND ${git} -C ${source} rev-parse --show-prefix OUTPUT_VARIABLE prefix RESULT_VARIABLE failed
      ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
    if(NOT failed AND prefix STREQUAL "")
      execute_process(COMMAND ${git} -C ${source} rev-parse --short=12 HEAD OUTPUT_VARIABLE head RESULT_VARIABLE failed
        ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
      execute_process(COMMAND ${git} -C ${source} status --porcelain --untracked-files=no OUTPUT_VARIABLE changes ERROR_QUIET)
      if(NOT failed)
        set(revision ${head})
        if(changes)
          string(APPEND revision "-dirty")
        endif()
      endif()
    endif()
  endif()
  if(revision STREQUAL "")
    file(GLOB_RECURSE files LIST_DIRECTORIES false RELATIVE ${source} ${source}/src/* ${source}/cmake/*)
    list(SORT files)
    set(hashes "")
    foreach(file ${files} CMakeLists.txt)
      file(SHA256 ${source}/${file} hash)
      string(APPEND hashes "${hash}  ${file}\n")
    endforeach()
    string(SHA256 tree "${hashes}")
    string(SUBSTRING ${tree} 0 12 tree)
    set(revision "tree ${tree}")
    file(STRINGS ${source}/cmake/archived_revision.txt archived REGEX "^commit [0-9a-f]+$")
    if(archived)
      string(SUBSTRING ${archived} 7 12 archived)
      set(revision "archive of ${archived}, ${revision}")
    endif()
  endif()
  set(text "// SPDX-License-Identifier: Apache-2.0
// Written by cmake/version.cmake at every build.
#pragma once

namespace cachalot {

inline constexpr const char* version = \"${version}\";
inline constexpr const char* git_revision = \"${revision}\";

}  // namespace cachalot
")
  set(old "")
  if(EXISTS ${out})
    file(READ ${out} old)
  endif()
  if(NOT old STREQUAL text)
    file(WRITE ${out} "${text}")
  endif()
  return()
endif()

set(version_header ${CMAKE_BINARY_DIR}/generated/version.h)
set(write_version ${CMAKE_COMMAND} -D source=${CMAKE_SOURCE_DIR} -D out=${version_header} -D version=${PROJECT_VERSION}
  -P ${CMAKE_SOURCE_DIR}/cmake/version.cmake)
execute_process(COMMAND ${write_version})
add_custom_target(version_header COMMAND ${write_version} BYPRODUCTS ${version_header} COMMENT "Asking for the revision" VERBATIM)

# Only the command line may say which version this is: no other room sees the header.
foreach(target cachalot_cli cachalot)
  get_target_property(type ${target} TYPE)
  if(NOT type STREQUAL INTERFACE_LIBRARY)
    add_dependencies(${target} version_header)
    target_include_directories(${target} PRIVATE ${CMAKE_BINARY_DIR}/generated)
  endif()
endforeach()
