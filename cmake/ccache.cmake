# SPDX-License-Identifier: Apache-2.0
# Uses ccache where it is installed; a launcher given on the command line or in a preset wins.
find_program(CACHALOT_CCACHE ccache)
mark_as_advanced(CACHALOT_CCACHE)
if(CACHALOT_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # What ccache asks for where headers are precompiled.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros ${CACHALOT_CCACHE})
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    add_compile_options(-fpch-preprocess)
  endif()
endif()
