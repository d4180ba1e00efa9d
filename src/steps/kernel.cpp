#include "steps/kernel.hpp"

#include <algorithm>

namespace scalecalc::steps {

Kernel kernel_of(const Entries& entries, const Samples& samples) {
  const double others = samples.tokens - 1;
  const double row = entries.same + (others > 0 ? others * entries.cross : 0);
  const double apart = samples.sequences > 1 ? samples.tokens * entries.between : 0;
  return {others > 0 ? entries.same - entries.cross : 0, samples.sequences > 1 ? row - apart : 0,
          row + (samples.sequences - 1) * apart};
}

Entries entries_of(const Kernel& kernel, const Samples& samples) {
  const double row = (kernel.all + (samples.sequences - 1) * kernel.sequence) / samples.sequences;
  Entries entries;
  entries.same = (row + (samples.tokens - 1) * kernel.token) / samples.tokens;
  entries.cross = samples.tokens > 1 ? entries.same - kernel.token : 0;
  entries.between = samples.sequences > 1 ? (kernel.all - kernel.sequence) / samples.count() : 0;
  return entries;
}

Kernel values_of(const Site& site, const Samples& samples) {
  return kernel_of({site.second.value, site.cross.value, site.between}, samples);
}
Kernel gradients_of(const Site& site, const Samples& samples) {
  return at_least_zero(
      kernel_of({site.grad_second.value, site.grad_cross.value, site.grad_between}, samples));
}

Kernel operator+(const Kernel& a, const Kernel& b) {
  return {a.token + b.token, a.sequence + b.sequence, a.all + b.all};
}
Kernel operator-(const Kernel& a, const Kernel& b) {
  return {a.token - b.token, a.sequence - b.sequence, a.all - b.all};
}
Kernel operator*(const Kernel& a, const Kernel& b) {
  return {a.token * b.token, a.sequence * b.sequence, a.all * b.all};
}
Kernel operator*(const Kernel& a, double factor) {
  return {a.token * factor, a.sequence * factor, a.all * factor};
}

Kernel by_entry(const Kernel& a, const Kernel& b, const Samples& samples) {
  const Entries x = entries_of(a, samples), y = entries_of(b, samples);
  return kernel_of({x.same * y.same, x.cross * y.cross, x.between * y.between}, samples);
}
Kernel diagonal(double same) {
  return {same, same, same};
}
Kernel at_least_zero(const Kernel& a) {
  return {std::max(a.token, 0.0), std::max(a.sequence, 0.0), std::max(a.all, 0.0)};
}
double diagonal_of(const Kernel& kernel, const Samples& samples) {
  return entries_of(kernel, samples).same;
}

}  // namespace scalecalc::steps
