#include "base/machine.hpp"

#include <doctest/doctest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

#include "scalecalc/error.hpp"

namespace scalecalc::base {
namespace {

TEST_CASE("a process may take no more than the machine has") {
  CHECK(machine_bytes() > 1e6);
  CHECK(allowed_bytes() > 1e6);
  CHECK(allowed_bytes() <= machine_bytes());
}

TEST_CASE("limits of the process count, the least of them") {
  for (const auto resource : {RLIMIT_AS, RLIMIT_DATA}) {
    const pid_t child = ::fork();
    if (child == 0) {
      constexpr rlim_t kLimit = rlim_t{1} << 29;
      const rlimit limit = {kLimit, kLimit};
      const bool is_set = ::setrlimit(resource, &limit) == 0;
      ::_exit(is_set && allowed_bytes() <= static_cast<double>(kLimit) ? 0 : 1);
    }
    int status = 1;
    ::waitpid(child, &status, 0);
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 0);
  }
}

TEST_CASE("what needs more is refused with both numbers") {
  CHECK_NOTHROW(check_memory("a table", allowed_bytes(), "here", "use a smaller one"));
  CHECK_THROWS_WITH_AS(check_memory("a table", 1e6 * kGiB, "here", "use a smaller one"),
                       doctest::Contains("a table needs about 1e+06 GiB of memory, and "), Error);
}

}  // namespace
}  // namespace scalecalc::base
