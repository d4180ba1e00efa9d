#pragma once

#include <memory>
#include <optional>
#include <utility>

namespace scalecalc::moments {

/// As std::optional, of what few layers have: what travels, and what a layer keeps, is as much
/// smaller where there is nothing.
template <class T>
class Seldom {
 public:
  Seldom() = default;
  Seldom(std::nullopt_t) {}
  Seldom(T value) : value_(std::make_unique<T>(std::move(value))) {}
  Seldom(std::optional<T> value) {
    if (value) value_ = std::make_unique<T>(std::move(*value));
  }
  Seldom(const Seldom& other) {
    if (other) value_ = std::make_unique<T>(*other);
  }
  Seldom(Seldom&&) noexcept = default;
  Seldom& operator=(const Seldom& other) {
    if (this != &other) value_ = other ? std::make_unique<T>(*other) : nullptr;
    return *this;
  }
  Seldom& operator=(Seldom&&) noexcept = default;
  ~Seldom() = default;

  explicit operator bool() const { return value_ != nullptr; }
  T& operator*() { return *value_; }
  const T& operator*() const { return *value_; }
  T* operator->() { return value_.get(); }
  const T* operator->() const { return value_.get(); }
  void reset() { value_.reset(); }

 private:
  std::unique_ptr<T> value_;
};

}  // namespace scalecalc::moments
