#include <algorithm>
#include <cmath>

#include "claims/networks.hpp"
#include "scalecalc/resize.hpp"
#include "scalecalc/scaling.hpp"
#include "scalecalc/verify.hpp"

namespace scalecalc::claims {
namespace {

constexpr int default_seeds = 8;

int seeds_of(Arguments& arguments) {
  if (!arguments.has("seeds")) return default_seeds;
  const std::int64_t seeds = arguments.integer("seeds");
  if (seeds < 2 || seeds > 10000) arguments.fail("seeds is from 2 to 10000", "for example seeds=8");
  return static_cast<int>(seeds);
}

const Trace& trace_for(Arguments& arguments) {
  Engine& engine = arguments.engine();
  if (engine.is_symbolic()) throw NotApplicable{"moments of a network are found by numbers"};
  return engine.networks().trace(model_of(arguments, engine.networks()), engine,
                                 seeds_of(arguments));
}

Expr figure(Engine& engine, const Figure& found, const std::string& what) {
  if (!found.is_known()) throw Error(ErrorKind::input, what + " is not known here");
  return engine.leaf(found.value, found.error);
}

Expr plain(Engine& engine, double value, const std::string& what) {
  if (std::isnan(value)) throw Error(ErrorKind::input, what + " is not known here");
  return engine.leaf(value, 1e-9 * std::abs(value));
}

template <class Item>
const Item* find_path(const std::vector<Item>& items, const std::string& path) {
  const auto found =
      std::find_if(items.begin(), items.end(), [&](const Item& i) { return i.path == path; });
  return found == items.end() ? nullptr : &*found;
}

template <class Item>
[[noreturn]] void unknown_path(const char* what, const std::vector<Item>& items,
                               const std::string& path) {
  std::vector<std::string> paths;
  for (const Item& item : items)
    if (paths.size() < 200) paths.push_back(item.path);
  const std::vector<std::string> near = nearest_names(path, paths);
  throw Error(ErrorKind::input, std::string("unknown ") + what, "path=\"" + path + "\"",
              "for example " + (near.empty() ? paths.front() : near.front()));
}

Expr site(Arguments& arguments, const std::string& member) {
  Engine& engine = arguments.engine();
  const Trace& trace = trace_for(arguments);
  const std::string path = arguments.text("path");
  const Site* site = find_path(trace.sites, path);
  if (member == "exists") return site != nullptr ? 1 : 0;
  if (site == nullptr) unknown_path("site", trace.sites, path);
  if (member == "second") return figure(engine, site->second, member);
  if (member == "mean") return figure(engine, site->mean, member);
  if (member == "cross") return figure(engine, site->cross, member);
  if (member == "cosine")
    return figure(engine, site->cross, member) / figure(engine, site->second, member);
  if (member == "grad_second") return figure(engine, site->grad_second, member);
  if (member == "grad_cross") return figure(engine, site->grad_cross, member);
  if (member == "spread") return plain(engine, site->spread, member);
  if (member == "grad_spread") return plain(engine, site->grad_spread, member);
  if (member == "second_finite") return plain(engine, site->second_finite, member);
  return plain(engine, site->second_typical, member);
}

Expr parameter(Arguments& arguments, const std::string& member) {
  Engine& engine = arguments.engine();
  const Trace& trace = trace_for(arguments);
  const std::string path = arguments.text("path");
  const ParameterMoments* found = find_path(trace.parameters, path);
  if (member == "exists") return found != nullptr ? 1 : 0;
  if (found == nullptr) unknown_path("parameter", trace.parameters, path);
  if (member == "entries") return Expr(found->rows * found->columns);
  return figure(engine, member == "second" ? found->second : found->grad_second, member);
}

double chosen(const PredictedStep& step, Quantity quantity) {
  const std::string name = to_string(quantity);
  if (const std::optional<double> value = step.find(name)) return *value;
  throw NotApplicable{name + " has no prediction: by = [\"passes\"]"};
}

bool over_all(Arguments& arguments) {
  const std::string set = arguments.text_or("parameters", "branch");
  if (set != "branch" && set != "all")
    arguments.fail("parameters must be branch or all", "for example parameters=all");
  return set == "all";
}

/// The model with what is open solved under the call's constraint.
ModelSpec scaled_model(Arguments& arguments) {
  ModelSpec spec = model_of(arguments, arguments.engine().networks());
  if (arguments.has("constraint")) {
    spec.alpha.reset();
    spec.lambda.reset();
    solve_scales(spec, Constraint::parse(arguments.text("constraint")));
  }
  return spec;
}

std::string key_of(const ModelSpec& spec, Engine& engine, Quantity quantity, bool all) {
  return to_string(engine.method()) + "\n" + to_string(quantity) + (all ? " all\n" : "\n") +
         model_text(spec);
}

double predicted(const ModelSpec& spec, Engine& engine, Quantity quantity, bool all) {
  const auto find = [&] {
    const Network network = build_network(spec);
    const Trace& trace = engine.networks().trace(spec, engine, default_seeds);
    const Optimizer by = optimizer(spec.optimizer);
    const PredictedStep step = predicted_step(network, trace, by.update, all, by.rest);
    return Estimate{chosen(step, quantity), 0, {}};
  };
  return engine.networks().number(key_of(spec, engine, quantity, all), find).value;
}

Expr profile(Arguments& arguments, const std::string& member) {
  Engine& engine = arguments.engine();
  if (engine.is_symbolic()) throw NotApplicable{"profile(...) is found by numbers"};
  const ModelSpec spec = model_of(arguments, engine.networks());
  if (member == "delta_loss")
    return plain(engine, predicted(spec, engine, Quantity::delta_loss, false), member);
  const DepthProfile found =
      depth_profile(build_network(spec), engine.networks().trace(spec, engine, default_seeds));
  if (member == "identity_weight") return plain(engine, found.identity_weight, member);
  return plain(engine, found.effective_depth, member);
}

/// What a slope goes along: depths, or widths with all that grows with them.
struct Sizes {
  bool are_widths = false;
  std::vector<std::int64_t> values;

  ModelSpec model_at(ModelSpec spec, std::int64_t size) const {
    if (!are_widths)
      spec.layers = size;
    else
      scale_width(spec, static_cast<double>(size) / static_cast<double>(spec.width), "width");
    return spec;
  }
};

Sizes sizes_of(Arguments& arguments) {
  Sizes sizes;
  sizes.are_widths = arguments.has("width") && arguments.is_list("width");
  if (sizes.are_widths && arguments.has("layers") && arguments.is_list("layers"))
    arguments.fail("a slope goes along layers or along width", "give one of them as a list");
  sizes.values = arguments.integers(sizes.are_widths ? "width" : "layers");
  if (sizes.values.size() < 2)
    arguments.fail(
        sizes.are_widths ? "a slope needs two widths" : "a slope needs two depths",
        sizes.are_widths ? "for example width=[32, 64, 128]" : "for example layers=[2, 8, 32]");
  return sizes;
}

Estimate passes_slope(const ModelSpec& spec, Engine& engine, const Sizes& sizes, Quantity quantity,
                      bool all, int seeds) {
  SweepOptions options;
  options.model = spec;
  options.layers = sizes.are_widths ? std::vector<std::int64_t>{spec.layers} : sizes.values;
  if (sizes.are_widths) options.widths = sizes.values;
  options.quantity = quantity;
  options.update = optimizer(spec.optimizer).update;
  options.rest = optimizer(spec.optimizer).rest;
  options.parameters = all ? ParameterSet::all : ParameterSet::branch;
  options.seeds = seeds;
  options.seed = engine.options().seed;
  options.threads = engine.options().threads;
  options.device = engine.options().device;
  const SweepResult result = sweep(options);
  if (!std::isfinite(result.exponent))
    throw Error(ErrorKind::input, "there is no exponent: " + result.no_exponent);
  const double error = result.exponent_standard_error;
  return {result.exponent, std::isfinite(error) ? error : 0.0, {}};
}

Expr slope(Arguments& arguments, const std::string&) {
  Engine& engine = arguments.engine();
  if (engine.is_symbolic()) throw NotApplicable{"slope(...) is found by numbers"};
  const Quantity quantity = quantity_from(arguments.text("quantity"), "quantity");
  const Sizes sizes = sizes_of(arguments);
  const ModelSpec spec = scaled_model(arguments);
  const bool all = over_all(arguments);
  if (engine.method() == ClaimMethod::passes) {
    const int seeds = seeds_of(arguments);
    std::string key = key_of(spec, engine, quantity, all) + std::to_string(seeds);
    key += sizes.are_widths ? " width" : " layers";
    for (const std::int64_t size : sizes.values) key += " " + std::to_string(size);
    return engine.leaf(engine.networks().number(
        key, [&] { return passes_slope(spec, engine, sizes, quantity, all, seeds); }));
  }
  std::vector<double> x, y;
  for (const std::int64_t size : sizes.values) {
    x.push_back(std::log(static_cast<double>(size)));
    y.push_back(std::log(predicted(sizes.model_at(spec, size), engine, quantity, all)));
  }
  return engine.leaf(fit_line(x, y).slope, 1e-9);
}

Expr quantity_value(Arguments& arguments, const std::string&) {
  Engine& engine = arguments.engine();
  if (engine.is_symbolic()) throw NotApplicable{"quantity(...) is found by numbers"};
  if (engine.method() == ClaimMethod::passes)
    throw NotApplicable{"quantity(...) is predicted; slope(...) takes passes"};
  const Quantity quantity = quantity_from(arguments.text("quantity"), "quantity");
  const double value = predicted(scaled_model(arguments), engine, quantity, over_all(arguments));
  return plain(engine, value, to_string(quantity));
}

Expr law(Arguments& arguments, const std::string&) {
  Engine& engine = arguments.engine();
  const std::string name = arguments.text("name");
  const Expr at = arguments.expr("l");
  const SymbolicTrace trace = propagate_symbolic(model_of(arguments, engine.networks()));
  std::vector<std::string> known;
  for (const SymbolicLaw& law : trace.laws) {
    if (law.name == name) return arguments.in_scope(parse(law.formula), {{"l", at}});
    known.push_back(law.name);
  }
  throw unknown_name("law", name, known, "");
}

}  // namespace

std::vector<LibraryFunction> network_functions() {
  return {{"site",
           with_model_keys({"path", "seeds"}),
           {"second", "mean", "cross", "cosine", "grad_second", "grad_cross", "spread",
            "grad_spread", "second_finite", "second_typical", "exists"},
           true,
           false,
           false,
           site},
          {"parameter",
           with_model_keys({"path", "seeds"}),
           {"second", "grad_second", "entries", "exists"},
           true,
           false,
           false,
           parameter},
          {"profile",
           with_model_keys({}),
           {"identity_weight", "effective_depth", "delta_loss"},
           true,
           false,
           false,
           profile},
          {"slope",
           with_model_keys({"quantity", "seeds", "constraint", "parameters"}),
           {"value"},
           true,
           false,
           false,
           slope},
          {"quantity",
           with_model_keys({"quantity", "constraint", "parameters"}),
           {"value"},
           true,
           false,
           false,
           quantity_value},
          {"law", with_model_keys({"name", "l"}), {"value"}, false, false, false, law}};
}

}  // namespace scalecalc::claims
