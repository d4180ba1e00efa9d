#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "scalecalc/error.hpp"
#include "tensor/draw.hpp"
#include "train/run.hpp"

namespace scalecalc::train_room {
namespace {

constexpr std::int32_t kStart = 0;  ///< what a decoder reads before the first symbol

}  // namespace

Batches::Batches(const Corpus& corpus, std::int64_t batch, std::int64_t sequence)
    : corpus_(corpus), batch_(batch), sequence_(sequence) {
  const std::size_t least = std::min(corpus.train.size(), corpus.validation.size());
  if (static_cast<std::int64_t>(least) > sequence) return;
  throw Error(ErrorKind::input,
              fmt::format("{} tokens for validation are no sequence of {} and its targets", least,
                          sequence),
              corpus.name, "use a longer text or a shorter sequence");
}

void Batches::add(const std::vector<std::int32_t>& text, std::int64_t offset,
                  TokenBatch& to) const {
  const auto begin = text.begin() + offset;
  if (corpus_.task != TrainTask::next) {
    std::vector<std::int32_t> asked(begin, begin + sequence_);
    to.sources.insert(to.sources.end(), asked.begin(), asked.end());
    if (corpus_.task == TrainTask::reverse) std::ranges::reverse(asked);
    to.ids.push_back(kStart);
    to.ids.insert(to.ids.end(), asked.begin(), asked.end() - 1);
    to.targets.insert(to.targets.end(), asked.begin(), asked.end());
    return;
  }
  to.ids.insert(to.ids.end(), begin, begin + sequence_);
  to.targets.insert(to.targets.end(), begin + 1, begin + 1 + sequence_);
}

TokenBatch Batches::train(std::uint64_t seed, std::int64_t step) const {
  std::vector<double> uniform(static_cast<std::size_t>(batch_));
  tensor::fill_uniform({seed, tensor::stream_id("train.batch")},
                       static_cast<std::uint64_t>(step * batch_), batch_, uniform.data());
  const auto places = static_cast<double>(corpus_.train.size()) - static_cast<double>(sequence_);
  TokenBatch batch;
  for (const double u : uniform) {
    add(corpus_.train, static_cast<std::int64_t>(std::floor(u * places)), batch);
  }
  return batch;
}

TokenBatch Batches::validation(std::int64_t index) const {
  const auto places = static_cast<std::int64_t>(corpus_.validation.size()) - sequence_;
  TokenBatch batch;
  for (std::int64_t i = 0; i < batch_; ++i) {
    add(corpus_.validation, (index * batch_ + i) * sequence_ % places, batch);
  }
  return batch;
}

}  // namespace scalecalc::train_room
