// SPDX-License-Identifier: Apache-2.0
#include "weights/weight_places.h"

namespace cachalot {

Error unreadable_type(const TensorInfo& tensor) {
  return {Errc::format, message("{} in {}: type {} can't be used here", tensor.name, tensor.file, tensor.dtype_text)};
}

}  // namespace cachalot
