#include "cli/call.hpp"

#include <exception>
#include <mutex>

#include "base/deadline.hpp"
#include "base/stop.hpp"
#include "cli/app.hpp"
#include "cli/plugins.hpp"
#include "scalecalc/tensor.hpp"

namespace scalecalc::cli {
namespace {

/// What does not come, and is few enough nanoseconds to reckon with: check_deadline() looks for a
/// stop where there is a deadline.
constexpr std::chrono::hours kNever{24 * 365};

void prepare_process() {
  static std::once_flag once;
  std::call_once(once, [] {
    watch_inputs();
    use_cuda_plugin(plugin_paths("scalecalc_cuda.so"));
  });
}

}  // namespace

Reply call(const std::vector<std::string>& words, const Progress& progress) {
  prepare_process();
  forget_files();
  std::vector<const char*> arguments = {"scalecalc"};
  for (const std::string& word : words) arguments.push_back(word.c_str());
  Reply reply;
  Context context(reply, progress);
  const base::Deadline endless(base::Deadline::Clock::now() + kNever, "stopped");
  try {
    reply.code = run_command(context, static_cast<int>(arguments.size()), arguments.data(),
                             commands(), words.empty() ? "" : words.front());
  } catch (...) {
    if (base::is_stop_requested()) throw base::Stopped();
    throw;
  }
  if (base::is_stop_requested()) throw base::Stopped();
  return reply;
}

}  // namespace scalecalc::cli
