#include "cli/forms.hpp"

namespace scalecalc::cli {

JsonForm devices_form() {
  using namespace shapes;
  const Shape bytes = count().or_null(), words = text().or_null();
  const Shape device = object({{"name", text(), "that --device takes"},
                               {"kind", one_of({"cpu", "cuda"}), "of device"},
                               {"available", truth(), "whether passes can run on it"},
                               {"model", words, "as its maker calls it"},
                               {"threads", count().or_null(), "of a CPU"},
                               {"memory", bytes, "bytes"},
                               {"memory_free", bytes, "bytes"},
                               {"capability", words, "instructions, or compute capability"},
                               {"products", words, "of a CPU: what multiplies its matrices"},
                               {"driver", words, "version of the driver"},
                               {"runtime", words, "version of the runtime"},
                               {"why_none", words, "why it is not available"}});
  return {object({}), object({{"devices", list(device), "the CPU, then those of CUDA"}})};
}

}  // namespace scalecalc::cli
