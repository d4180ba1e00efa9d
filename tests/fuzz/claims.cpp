#include "claims/claim.hpp"
#include "fuzz/fuzz.hpp"

/// Claim files: TOML, the language of assertions, declarations. They are read, not decided.
namespace scalecalc::fuzz {

void one(std::string_view input) {
  accepts([&] { claims::read_claims(input, "claims.toml"); });
}

}  // namespace scalecalc::fuzz
