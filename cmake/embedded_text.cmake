# SPDX-License-Identifier: Apache-2.0
# cachalot_embedded_text(ROOM FILE FUNCTION): compiles a text file into the room, as `std::string_view FUNCTION()` of namespace
# cachalot; a header of the room declares it. So an installed program needs no file, and the text is written once.
function(cachalot_embedded_text room file function)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
  file(READ ${file} text)
  set(source ${CMAKE_BINARY_DIR}/generated/${function}.cpp)
  file(CONFIGURE OUTPUT ${source} @ONLY CONTENT "// SPDX-License-Identifier: Apache-2.0
// Written by cmake/embedded_text.cmake while configuring.
#include <string_view>

namespace cachalot {

std::string_view @function@();
std::string_view @function@() { return R\"embedded(@text@)embedded\"; }

}  // namespace cachalot
")
  target_sources(cachalot_${room} PRIVATE ${source})
endfunction()
