#pragma once

#include <cstddef>
#include <deque>
#include <utility>

namespace scalecalc::base {

/// Values of the last few keys that were asked for, for layers that take turns. Keys are compared
/// one after another.
template <class Key, class Value, std::size_t most = 4>
class Recent {
 public:
  /// The key's value, by `make()` where it is not kept; it stays where it is until `most` others
  /// have been made.
  template <class Make>
  const Value& operator()(const Key& key, const Make& make) {
    for (const Entry& entry : entries_)
      if (entry.first == key) return entry.second;
    Value made = make();
    if (entries_.size() == most) entries_.pop_front();
    entries_.emplace_back(key, std::move(made));
    return entries_.back().second;
  }

 private:
  using Entry = std::pair<Key, Value>;
  std::deque<Entry> entries_;
};

}  // namespace scalecalc::base
