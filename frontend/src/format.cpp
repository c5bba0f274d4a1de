#include <algorithm>
#include <unordered_map>

#include "format_layout.h"
#include "item_parser.h"
#include "pk/frontend/parse.h"

namespace pk {
namespace {

using grammar::PkLexer;

unsigned code_points(std::string_view text) {
  return static_cast<unsigned>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

std::string_view without_trailing_space(std::string_view text) {
  const std::size_t end = text.find_last_not_of(" \t\r\f");
  return text.substr(0, end == std::string_view::npos ? 0 : end + 1);
}

/// Tokens and comments with what the author put before them.
class Pieces {
 public:
  explicit Pieces(std::string_view text) : text_(text) {}

  void add(const antlr4::Token& token) {
    const std::size_t begin = token.getStartIndex();
    const std::size_t end = token.getStopIndex() + 1;
    Piece p;
    p.text = text_.substr(begin, end - begin);
    p.type = token.getType();
    if (p.type == PkLexer::LINE_COMMENT) p.text = without_trailing_space(p.text);
    p.width = code_points(p.text);
    const std::string_view before = text_.substr(end_, begin - end_);
    p.newlines = static_cast<unsigned>(std::count(before.begin(), before.end(), '\n'));
    p.gap = p.newlines == 0 ? static_cast<unsigned>(before.size()) : 0;
    const std::size_t line_end = before.rfind('\n');
    p.column =
        line_end == std::string_view::npos ? column_ + code_points(before) : code_points(before.substr(line_end + 1));
    const std::size_t own_line_end = p.text.rfind('\n');
    column_ =
        own_line_end == std::string_view::npos ? p.column + p.width : code_points(p.text.substr(own_line_end + 1));
    indices_.emplace(begin, list_.size());
    list_.push_back(p);
    end_ = end;
  }
  void mark(std::size_t offset, Role role) {
    const auto found = indices_.find(offset);
    if (found != indices_.end()) list_[found->second].roles |= static_cast<Roles>(role);
  }
  [[nodiscard]] const std::vector<Piece>& list() const { return list_; }

 private:
  std::string_view text_;
  std::vector<Piece> list_;
  std::unordered_map<std::size_t, std::size_t> indices_;  // of pieces, by their offset in the text
  std::size_t end_ = 0;                                   // of the last piece,
  unsigned column_ = 0;                                   // and the column behind it
};

/// The pieces of `file` with their roles; none if the text has errors.
std::optional<Pieces> read_pieces(const Sources& sources, FileId file) {
  Diagnostics diags;
  Pieces pieces(sources.text(file));
  Lexer lexer(sources, file);
  TokenList tokens = lexer.tokens(diags);
  for (const auto& token : tokens) pieces.add(*token);
  for (ItemTokens& item : split_items(sources, file, std::move(tokens), diags)) {
    const ParsedItem parsed(sources, file, std::move(item.tokens), diags);
    if (diags.has_errors() || parsed.item() == nullptr) return std::nullopt;
    find_roles(*parsed.item(), [&](std::size_t offset, Role role) { pieces.mark(offset, role); });
  }
  if (diags.has_errors()) return std::nullopt;
  return pieces;
}

bool same_pieces(const std::vector<Piece>& a, const std::vector<Piece>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Piece& x, const Piece& y) {
    return x.type == y.type && x.text == y.text && x.roles == y.roles;
  });
}

}  // namespace

Result<std::string> format_source(const Sources& sources, FileId file) {
  try {
    const std::optional<Pieces> pieces = read_pieces(sources, file);
    if (!pieces) return Error{diag::syntax_error::code, "the file has syntax errors"};
    std::string out = lay_out(pieces->list());
    Sources formatted;
    const FileId again = formatted.add({}, out);
    const std::optional<Pieces> read_back = read_pieces(formatted, again);
    PK_CHECK(read_back && same_pieces(pieces->list(), read_back->list()), "formatting changed the meaning of the file");
    return out;
  } catch (const std::exception& e) {
    internal_error(__FILE__, __LINE__, e.what());
  }
}

}  // namespace pk
