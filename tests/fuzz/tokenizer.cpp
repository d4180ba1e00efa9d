#include "train/tokenizer.hpp"
#include "fuzz/fuzz.hpp"

/// Files of tokenizers and, behind a zero byte, a text in their tokens: all bytes of it stand for
/// one.
namespace scalecalc::fuzz {

void one(std::string_view input) {
  const auto [file, behind] = halves(input, '\0');
  const std::string_view text = behind;
  const std::string path = file_of(file, "tokenizer.json");
  accepts([&] {
    train_room::Tokenizer tokenizer(train_room::read_tokenizer(path));
    const auto encoded = tokenizer.encode(text, "text");
    const std::size_t words = tokenizer.file().words.size();
    std::size_t bytes = 0;
    for (const std::uint32_t count : encoded.bytes) bytes += count;
    for (const std::int32_t id : encoded.ids)
      hold(id >= 0 && static_cast<std::size_t>(id) < words, "an id of no word");
    hold(bytes == text.size(), "other bytes than those of the text");
  });
}

}  // namespace scalecalc::fuzz
