#include "claims/mutate.hpp"

/// What methods and mutations are called, in claim files and in reports.
namespace scalecalc {

std::string to_string(ClaimMethod method) {
  switch (method) {
    case ClaimMethod::symbolic: return "symbolic";
    case ClaimMethod::quadrature: return "quadrature";
    case ClaimMethod::montecarlo: return "montecarlo";
    case ClaimMethod::passes: break;
  }
  return "passes";
}

namespace claims {

std::string to_string(Mutation mutation) {
  switch (mutation) {
    case Mutation::quarter: return "exponent 1/4";
    case Mutation::half: return "exponent 1/2";
    case Mutation::factor: return "factor 2";
    case Mutation::sign: return "sign";
    case Mutation::turned: return "turned";
    case Mutation::tolerance: break;
  }
  return "tolerance 2";
}

const std::vector<std::string>& mutation_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> list;
    for (const Mutation mutation : {Mutation::quarter, Mutation::half, Mutation::factor,
                                    Mutation::sign, Mutation::turned, Mutation::tolerance})
      list.push_back(to_string(mutation));
    return list;
  }();
  return names;
}

}  // namespace claims
}  // namespace scalecalc
