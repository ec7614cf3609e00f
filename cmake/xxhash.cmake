# SPDX-License-Identifier: Apache-2.0
# Checksums of kept states (src/kv/checksum.h). Debian's package brings no CMake file.
find_path(XXHASH_INCLUDE_DIR xxhash.h)
find_library(XXHASH_LIBRARY xxhash)
if(NOT XXHASH_INCLUDE_DIR OR NOT XXHASH_LIBRARY)
  message(FATAL_ERROR "xxHash was not found (xxhash.h: ${XXHASH_INCLUDE_DIR}, library: ${XXHASH_LIBRARY}). "
    "On Debian it is the package libxxhash-dev; `tools/install_packages build` installs all that is needed.")
endif()
add_library(xxhash INTERFACE)
target_include_directories(xxhash SYSTEM INTERFACE ${XXHASH_INCLUDE_DIR})
target_link_libraries(xxhash INTERFACE ${XXHASH_LIBRARY})
