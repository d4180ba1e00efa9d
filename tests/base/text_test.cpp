#include "base/text.hpp"

#include <doctest/doctest.h>

#include <vector>

using namespace scalecalc::base;

TEST_CASE("characters are counted as UTF-8") {
  CHECK(character_at("a", 0).bytes == 1);
  CHECK(character_at("λ", 0).bytes == 2);
  CHECK(character_at("−", 0).bytes == 3);
  CHECK(character_at("\xf0\x9f\x98\x80", 0).bytes == 4);
  CHECK_FALSE(character_at("\xff", 0).valid);
  CHECK_FALSE(character_at("\xce", 0).valid);      // cut in the middle
  CHECK_FALSE(character_at("\xc0\x80", 0).valid);  // an overlong zero
  CHECK_FALSE(character_at("\xce(", 0).valid);
  CHECK_FALSE(character_at("\xe0\x9f\xbf", 0).valid);      // an overlong U+07FF
  CHECK_FALSE(character_at("\xf0\x8f\xbf\xbf", 0).valid);  // an overlong U+FFFF
  CHECK_FALSE(character_at("\xed\xa0\x80", 0).valid);      // a surrogate
  CHECK_FALSE(character_at("\xf4\x90\x80\x80", 0).valid);  // beyond U+10FFFF
}

TEST_CASE("nothing is read behind the end of a text") {
  // A byte on the heap of its own: AddressSanitizer sees a look at the next.
  for (const char begin : {'\xc2', '\xe0', '\xf0', '\xff', 'a'}) {
    const std::vector<char> text = {begin};
    CHECK(printable({text.data(), text.size()}).size() == 1);
    CHECK(shortened({text.data(), text.size()}, 5).size() == 1);
  }
}

TEST_CASE("what is shown cannot break the line or the terminal") {
  CHECK(printable("a\nb\x1b[0m") == "a?b?[0m");
  CHECK(printable("\xc2\x9b") == "?");
  CHECK(printable("\xff\xce") == "??");
  CHECK(printable("λ") == "λ");
  CHECK(shortened("λλλ", 2) == "λλ...");
  CHECK(shortened("abc", 3) == "abc");
}

TEST_CASE("identifiers") {
  CHECK(is_identifier("alpha_1"));
  CHECK(is_identifier("_"));
  CHECK_FALSE(is_identifier(""));
  CHECK_FALSE(is_identifier("1a"));
  CHECK_FALSE(is_identifier("a.b"));
  CHECK_FALSE(is_identifier("a b"));
  CHECK_FALSE(is_identifier("λ"));
}
