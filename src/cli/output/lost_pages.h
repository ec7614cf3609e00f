// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace cachalot {

// From now on a page of a mapped file that can't be read any more ends the program with exit code 1 and one line that
// names file and byte, instead of "Bus error". A SIGBUS elsewhere goes on to whoever handled it before.
void tell_lost_pages();

}  // namespace cachalot
