#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <pthread.h>

#include <cmath>
#include <memory>
#include <new>
#include <system_error>

#include "job.hpp"
#include "library.hpp"

namespace nb = nanobind;

namespace scalecalc::package {
namespace {

using report::Value;
using namespace std::chrono_literals;

/// Between two looks for signals.
constexpr auto kGlance = 50ms;

/// One command works at a time: it uses every core, and parts of the library are of the process.
std::timed_mutex& turn() {
  static std::timed_mutex* mutex = [] {
    alignas(std::timed_mutex) static unsigned char place[sizeof(std::timed_mutex)];
    auto* made = new (place) std::timed_mutex;
    // The thread that had it is not in the child of a fork.
    ::pthread_atfork(nullptr, nullptr, [] { new (place) std::timed_mutex; });
    return made;
  }();
  return *mutex;
}

/// With the keys, texts and numbers that the JSON printer writes.
nb::object converted(const Value& value);

struct Converter {
  nb::object operator()(std::monostate) const { return nb::none(); }
  nb::object operator()(bool truth) const { return nb::bool_(truth); }
  nb::object operator()(std::int64_t number) const { return nb::int_(number); }
  nb::object operator()(double number) const {
    return std::isfinite(number) ? nb::object(nb::float_(number)) : nb::none();
  }
  nb::object operator()(const std::string& text) const { return nb::str(text.data(), text.size()); }
  nb::object operator()(const Value::Digits& digits) const { return (*this)(digits.text); }
  nb::object operator()(const Value::Formula& formula) const { return (*this)(formula.text); }
  nb::object operator()(const Value::List& list) const {
    nb::list made;
    for (std::size_t i = 0; i < list.size; ++i) made.append(converted(list.element(i)));
    return made;
  }
  nb::object operator()(const Value::Array& elements) const {
    nb::list made;
    for (const Value& element : elements) made.append(converted(element));
    return made;
  }
  nb::object operator()(const Value::Object& members) const {
    nb::dict made;
    for (const auto& [name, member] : members)
      made[nb::str(name.data(), name.size())] = converted(member);
    return made;
  }
};

nb::object converted(const Value& value) {
  return std::visit(Converter{}, value.data());
}

[[noreturn]] void raise(const Error& error) {
  static constexpr const char* kKinds[] = {"usage", "input", "unsolvable", "fault"};
  const nb::object made = nb::module_::import_("scalecalc._errors")
                              .attr("error")(kKinds[static_cast<int>(error.kind())], error.what(),
                                             error.message(), error.where(), error.hint());
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(made.ptr())), made.ptr());
  throw nb::python_error();
}

void check_signals() {
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

std::unique_lock<std::timed_mutex> wait_for_turn() {
  std::unique_lock<std::timed_mutex> lock(turn(), std::defer_lock);
  for (;;) {
    {
      const nb::gil_scoped_release release;
      if (lock.try_lock_for(kGlance)) return lock;
    }
    check_signals();
  }
}

void watch(Job& job, const nb::object& progress) {
  for (;;) {
    {
      const nb::gil_scoped_release release;
      if (job.wait_for(kGlance)) return;
    }
    check_signals();
    if (progress.is_none()) continue;
    if (const std::optional<Done> done = job.progress()) progress(done->share, done->what);
  }
}

cli::Reply reply_to(const std::vector<std::string>& words, const nb::object& progress) {
  const std::unique_lock<std::timed_mutex> lock = wait_for_turn();
  allow_work();
  try {
    Job job(words);
    try {
      watch(job, progress);
    } catch (...) {
      job.stop();
      const nb::gil_scoped_release release;
      while (!job.wait_for(kGlance)) continue;
      throw;
    }
    return job.take();
  } catch (const Error& error) {
    raise(error);
  } catch (const std::system_error& error) {
    raise(Error(ErrorKind::fault, std::string("the system refused: ") + error.what(), "",
                "check limits on threads"));
  }
}

nb::tuple call_command(const std::vector<std::string>& words, const nb::object& progress) {
  const cli::Reply reply = reply_to(words, progress);
  nb::object inputs = nb::none(), results = nb::none();
  if (reply.document) {
    inputs = converted(reply.document->inputs);
    results = converted(reply.document->results);
  }
  nb::list notes;
  for (const std::string& note : reply.notes) notes.append(nb::str(note.data(), note.size()));
  return nb::make_tuple(reply.code, inputs, results, reply.text, notes);
}

std::string latex_of(const std::string& formula) {
  try {
    return latex(formula);
  } catch (const Error& error) {
    raise(error);
  }
}

}  // namespace
}  // namespace scalecalc::package

NB_MODULE(_core, module) {
  using namespace scalecalc::package;
#if defined(SCALECALC_NEEDS_AVX2)
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma"))
    throw nb::import_error("this build of scalecalc needs a processor with AVX2");
#endif
  module.def("version", &version, "Of the library.");
  module.def(
      "call", &call_command, nb::arg("words"), nb::arg("progress").none() = nb::none(),
      nb::sig("def call(words: list[str], progress: object = None) -> "
              "tuple[int, dict[str, object] | None, dict[str, object] | None, str, list[str]]"),
      "Runs a command: its exit code, inputs, results, text and notes. `progress` is called "
      "with the share that is done and of what.");
  module.def("latex", &latex_of, nb::arg("formula"), "A formula in the notation of LaTeX.");
}
