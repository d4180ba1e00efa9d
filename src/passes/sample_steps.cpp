#include <algorithm>
#include <atomic>
#include <mutex>
#include <optional>

#include "base/workers.hpp"
#include "passes/passes_impl.hpp"
#include "scalecalc/error.hpp"
#include "scalecalc/step_samples.hpp"
#include "tensor/singular.hpp"

namespace scalecalc {
namespace {

constexpr int kMostSteps = 10000, kMostSeeds = 100000;

/// Of one draw, by step.
struct DrawSteps {
  std::vector<std::vector<double>> second, change;  ///< [step][site]
  std::vector<StepNorms> norms;
  std::vector<double> loss;
  /// [step][parameter]: largest singular values, squared, of what the step adds and of the start.
  std::vector<std::vector<double>> update_norm, norm;
};

/// The values of every site; kept of the first pass, compared with later ones.
template <class Real>
class StepObserver final : public passes::Observer<Real> {
 public:
  StepObserver(passes::Model<Real>& model, std::vector<SiteSteps>* names)
      : model_(model), names_(names), sequences_(0) {}

  void begin(DrawSteps& out) {
    out.second.emplace_back();
    out.change.emplace_back();
    out_ = &out;
    next_ = 0;
  }
  void set_sequences(std::int64_t sequences) { sequences_ = sequences; }

  std::size_t value(const std::string& path, const char* kind,
                    const tensor::Tensor<Real>& value) override {
    tensor::Device<Real>& on = model_.device();
    const std::int64_t size = value.size();
    const auto mean_square = [&](const tensor::Tensor<Real>& of) {
      return on.dot(size, of.data(), of.data()) / static_cast<double>(size);
    };
    out_->second.back().push_back(mean_square(value));
    if (next_ == first_.size()) {
      first_.push_back(copy(value));
      out_->change.back().push_back(0);
      if (names_ != nullptr)
        names_->push_back({path, kind, value.columns(), value.rows() / sequences_, {}, {}});
    } else {
      const tensor::Tensor<Real> moved = copy(value);
      on.scaled_backward(size, -1.0, first_[next_].data(), {moved.data(), true});
      out_->change.back().push_back(mean_square(moved));
    }
    return next_++;
  }
  void gradient(std::size_t, const tensor::Tensor<Real>&) override {}
  void parameter(std::size_t) override {}

 private:
  tensor::Tensor<Real> copy(const tensor::Tensor<Real>& from) {
    tensor::Tensor<Real> made(model_.shared_device(), from.rows(), from.columns());
    model_.device().scaled_backward(from.size(), 1.0, from.data(), {made.data(), false});
    return made;
  }

  passes::Model<Real>& model_;
  std::vector<SiteSteps>* names_;
  std::int64_t sequences_;
  DrawSteps* out_ = nullptr;
  std::vector<tensor::Tensor<Real>> first_;
  std::size_t next_ = 0;
};

/// Parameters before and after a step, on the host.
template <class Real>
class NormsOfStep {
 public:
  explicit NormsOfStep(passes::Model<Real>& model) : model_(model) {
    for (std::size_t i = 0; i < model.parameters().size(); ++i) before_.push_back(values(i));
  }

  void add_to(DrawSteps& out) {
    auto& update = out.update_norm.emplace_back();
    auto& norm = out.norm.emplace_back();
    for (std::size_t i = 0; i < before_.size(); ++i) {
      const std::vector<double> after = values(i);
      norm.push_back(square(i));
      for (std::size_t k = 0; k < after.size(); ++k) before_[i][k] = after[k] - before_[i][k];
      update.push_back(square(i));
    }
  }

 private:
  std::vector<double> values(std::size_t index) {
    const MatrixView<Real> view = host_.view(model_.device(), model_.parameter(index));
    return {view.data, view.data + view.size()};
  }
  double square(std::size_t index) const {
    const ParameterInfo& info = model_.parameters()[index];
    const double value =
        tensor::largest_singular_value(before_[index].data(), info.rows, info.columns);
    return value * value;
  }

  passes::Model<Real>& model_;
  passes::HostCopy<Real> host_ = {};
  std::vector<std::vector<double>> before_;
};

template <class Real>
DrawSteps steps_of_draw(const Network& network, PassOptions options, std::uint64_t seed,
                        const OptimizerOptions& optimizer, int steps, bool operator_norms,
                        std::vector<SiteSteps>* names) {
  options.seed = seed;
  Passes<Real> passes(network, options);
  Trainer<Real> trainer(passes, optimizer);
  passes::Model<Real>& model = passes::model_of(passes);
  StepObserver<Real> observer(model, names);
  observer.set_sequences(network.batch);
  DrawSteps made;
  observer.begin(made);
  made.loss.push_back(model.loss(&observer));
  for (int step = 1; step <= steps; ++step) {
    std::optional<NormsOfStep<Real>> norms;
    if (operator_norms) norms.emplace(model);
    trainer.step(made.norms.emplace_back());
    if (norms) norms->add_to(made);
    observer.begin(made);
    made.loss.push_back(model.loss(&observer));
  }
  return made;
}

using Table = std::vector<std::vector<double>>;

void add(const std::vector<DrawSteps>& draws, std::size_t steps, StepSamples& out) {
  for (std::size_t step = 0; step <= steps; ++step) {
    std::vector<double>& loss = out.loss.emplace_back();
    for (const DrawSteps& draw : draws) loss.push_back(draw.loss[step]);
    for (std::size_t i = 0; i < out.sites.size(); ++i) {
      std::vector<double>& second = out.sites[i].second.emplace_back();
      std::vector<double>& change = out.sites[i].change.emplace_back();
      for (const DrawSteps& draw : draws) {
        second.push_back(draw.second[step][i]);
        change.push_back(draw.change[step][i]);
      }
    }
  }
  for (std::size_t i = 0; i < out.parameters.size(); ++i) {
    ParameterSteps& parameter = out.parameters[i];
    const double entries =
        static_cast<double>(parameter.rows) * static_cast<double>(parameter.columns);
    for (std::size_t step = 0; step < steps; ++step) {
      std::vector<double>& update = parameter.update.emplace_back();
      std::vector<double>& second = parameter.second.emplace_back();
      for (const DrawSteps& draw : draws) {
        const StepNorms& norms = draw.norms[step];
        update.push_back(norms.update[i] * norms.update[i] / entries);
        second.push_back(norms.parameter[i] * norms.parameter[i] / entries);
      }
      if (draws.front().norm.empty()) continue;
      std::vector<double>& update_norm = parameter.update_norm.emplace_back();
      std::vector<double>& norm = parameter.norm.emplace_back();
      for (const DrawSteps& draw : draws) {
        update_norm.push_back(draw.update_norm[step][i]);
        norm.push_back(draw.norm[step][i]);
      }
    }
  }
}

}  // namespace

StepSamples sample_steps(const Network& network, const PassOptions& options,
                         const OptimizerOptions& optimizer, int steps, int seeds,
                         bool single_precision, const std::function<bool(double)>& progress,
                         bool operator_norms) {
  if (steps < 1 || steps > kMostSteps)
    throw Error(ErrorKind::input, "steps is " + std::to_string(steps), "steps",
                "use 1 to " + std::to_string(kMostSteps));
  if (seeds < 1 || seeds > kMostSeeds)
    throw Error(ErrorKind::input, "seeds is " + std::to_string(seeds), "seeds",
                "use 1 to " + std::to_string(kMostSeeds));
  std::vector<DrawSteps> draws(static_cast<std::size_t>(seeds));
  StepSamples made;
  std::atomic<std::size_t> next = 0;
  std::mutex mutex;
  std::size_t done = 0;
  base::Workers workers;
  const int threads = std::max(1, std::min(options.threads, seeds));
  PassOptions each = options;
  each.threads = std::max(1, options.threads / threads);
  workers.run(threads, [&] {
    for (std::size_t i = next++; i < draws.size() && !workers.stopped(); i = next++) {
      std::vector<SiteSteps>* names = i == 0 ? &made.sites : nullptr;
      draws[i] = single_precision ? steps_of_draw<float>(network, each, options.seed + i, optimizer,
                                                         steps, operator_norms, names)
                                  : steps_of_draw<double>(network, each, options.seed + i,
                                                          optimizer, steps, operator_norms, names);
      const std::lock_guard lock(mutex);
      ++done;
      if (!progress || progress(static_cast<double>(done) / static_cast<double>(seeds))) continue;
      workers.stop();
      throw Error(ErrorKind::fault, "interrupted", "passes");
    }
  });
  for (const ParameterInfo& info : parameters(network))
    made.parameters.push_back({info.path, info.rows, info.columns, {}, {}, {}, {}});
  add(draws, static_cast<std::size_t>(steps), made);
  return made;
}

}  // namespace scalecalc
