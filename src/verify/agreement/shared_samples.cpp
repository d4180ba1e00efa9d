#include "verify/agreement/shared_samples.hpp"

#include <algorithm>

#include "cluster/bytes.hpp"

namespace scalecalc {
namespace {

/// `visit(values)` for every list of one value a seed.
template <class Samples, class Visit>
void each_list(Samples& samples, Visit visit) {
  for (auto& site : samples.sites) {
    for (auto* list : {&site.mean, &site.second, &site.cross, &site.grad_second, &site.grad_cross})
      visit(*list);
  }
  for (auto& parameter : samples.parameters) {
    visit(parameter.second);
    visit(parameter.grad_second);
  }
  visit(samples.loss);
}

/// The first seed of a rank; that of the rank after it is where its own end. Rank 0 has one at
/// least.
int first_seed(int seeds, int rank, int size) {
  const std::int64_t before = std::int64_t{seeds} * rank;
  return static_cast<int>((before + size - 1) / size);
}

}  // namespace

PassSamples shared_samples(const Network& network, const VerifyOptions& options,
                           const std::function<bool(double done)>& progress) {
  OneRank one;
  Ranks& ranks = options.ranks != nullptr ? *options.ranks : one;
  const int first = first_seed(options.seeds, ranks.rank(), ranks.size());
  const int count = first_seed(options.seeds, ranks.rank() + 1, ranks.size()) - first;
  PassSamples samples;
  const std::vector<std::string> all = ranks.gather([&] {
    const PassOptions pass{options.seed + static_cast<std::uint64_t>(first), options.threads,
                           device_here(options.device, options.ranks), options.recompute,
                           options.expect};
    // A rank without a seed measures one for the names of the places alone.
    samples = sample_passes(network, pass, std::max(count, 1), options.single_precision, progress);
    if (count == 0) each_list(samples, [](std::vector<double>& list) { list.clear(); });
    cluster::Writer own;
    each_list(samples, [&own](const std::vector<double>& list) { own.put(list); });
    return own.take();
  });
  each_list(samples, [](std::vector<double>& list) { list.clear(); });
  for (const std::string& bytes : all) {
    cluster::Reader reader(bytes);
    each_list(samples, [&reader](std::vector<double>& list) {
      const std::vector<double> part = reader.numbers();
      list.insert(list.end(), part.begin(), part.end());
    });
  }
  return samples;
}

}  // namespace scalecalc
