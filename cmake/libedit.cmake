# SPDX-License-Identifier: Apache-2.0
# Line editing for `cachalot chat`. libedit brings no CMake package, and pkg-config would be one more tool to need.
find_path(LIBEDIT_INCLUDE_DIR histedit.h)
find_library(LIBEDIT_LIBRARY edit)
if(NOT LIBEDIT_INCLUDE_DIR OR NOT LIBEDIT_LIBRARY)
  message(FATAL_ERROR "libedit was not found (histedit.h: ${LIBEDIT_INCLUDE_DIR}, library: ${LIBEDIT_LIBRARY}). "
    "On Debian it is the package libedit-dev; `tools/install_packages build` installs all that is needed.")
endif()
add_library(libedit INTERFACE)
target_include_directories(libedit SYSTEM INTERFACE ${LIBEDIT_INCLUDE_DIR})
target_link_libraries(libedit INTERFACE ${LIBEDIT_LIBRARY})
