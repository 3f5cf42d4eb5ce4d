#include "register.hpp"

NB_MODULE(_native, module) {
  module.doc() = "The native kernels: functions over buffers that release the GIL.";
  forebay::bind::register_crc32c(module);
}
