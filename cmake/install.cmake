# SPDX-License-Identifier: Apache-2.0
include(GNUInstallDirs)
install(TARGETS cachalot RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
