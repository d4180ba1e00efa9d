#include "base/machine.hpp"

#include <unistd.h>

namespace scalecalc::base {

double machine_bytes() {
  return static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGE_SIZE));
}

}  // namespace scalecalc::base
