# SPDX-License-Identifier: Apache-2.0
# Uses ccache where it is installed; a launcher given on the command line or in a preset wins.
find_program(CACHALOT_CCACHE ccache)
mark_as_advanced(CACHALOT_CCACHE)
if(CACHALOT_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CACHALOT_CCACHE})
endif()
