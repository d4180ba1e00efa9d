#include "library.hpp"

#include "base/stop.hpp"
#include "cli/app.hpp"
#include "cli/call.hpp"
#include "scalecalc/symbolic.hpp"

namespace scalecalc::package {

cli::Reply call(const std::vector<std::string>& words, const Progress& progress) {
  return cli::call(words, progress);
}

void request_stop() noexcept {
  base::request_stop();
}

void allow_work() noexcept {
  base::allow_work();
}

std::string latex(const std::string& formula) {
  return to_string(parse(formula), Notation::latex);
}

const char* version() {
  return report::version();
}

int run(int argc, char** argv) {
  return cli::run(argc, argv);
}

}  // namespace scalecalc::package
