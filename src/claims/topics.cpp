#include "claims/topics.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "claims/claim.hpp"
#include "claims/networks.hpp"
#include "scalecalc/claims.hpp"

namespace scalecalc {

ClaimsReport::File read_claims_text(std::string_view toml, const std::string& name) {
  const claims::ClaimFile read = claims::read_claims(toml, name);
  ClaimsReport::File file{base::printable(name), read.title, {}};
  for (const claims::Claim& claim : read.claims) file.claims.push_back(claims::undecided(claim));
  return file;
}

ClaimsReport::File check_topic(const Topic& topic, const CheckOptions& options) {
  return claims::check_file(claims::read_claims(topic.toml, topic.name), topic.name,
                            claims::Networks::built_in(), options);
}

const std::vector<Topic>& topics() {
  static const std::vector<Topic> all = [] {
    std::vector<Topic> list;
    for (const Preset& text : embedded_topics()) {
      Topic topic{text.name, text.title, text.toml};
      std::replace(topic.name.begin(), topic.name.end(), '_', '-');
      list.push_back(std::move(topic));
    }
    return list;
  }();
  return all;
}

const Topic& topic(std::string_view name, const std::string& where) {
  std::vector<std::string> names;
  for (const Topic& entry : topics()) {
    if (entry.name == name) return entry;
    names.push_back(entry.name);
  }
  throw unknown_name("topic", name, names, where);
}

}  // namespace scalecalc
