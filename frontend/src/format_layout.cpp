#include "format_layout.h"

#include <algorithm>

namespace pk {
namespace {

using grammar::PkLexer;

bool is_comment(const Piece& p) { return p.type == PkLexer::LINE_COMMENT || p.type == PkLexer::BLOCK_COMMENT; }

/// Whether a space stands between `a` and `b` on one line.
bool spaced(const Piece& a, const Piece& b) {
  if (a.is(Role::list_open)) return a.is(Role::roomy) && !b.is(Role::list_close);
  if (b.is(Role::list_close)) return b.is(Role::roomy);
  if (is_comment(a) || is_comment(b)) return true;
  if (b.type == PkLexer::COMMA || b.type == PkLexer::SEMI) return false;
  if (a.type == PkLexer::COMMA) return true;
  if (b.type == PkLexer::COLON) return false;
  if (a.type == PkLexer::DOT || b.type == PkLexer::DOT) return false;
  return !(a.is(Role::tight) || b.is(Role::tight) || b.is(Role::tight_before) || a.is(Role::prefix));
}

/// Extra spaces before the second column of parameters and allocations. A list is aligned if its author aligned it: one
/// element a line, and more than one space somewhere between the columns.
class Alignment {
 public:
  explicit Alignment(const std::vector<Piece>& pieces) : pieces_(pieces), padding_(pieces.size(), 0) {
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      if (pieces[i].is(Role::list_open)) lists_.emplace_back();
      if (!lists_.empty()) add(i, lists_.back());
      if (pieces[i].is(Role::list_close) && !lists_.empty()) {
        align(lists_.back());
        lists_.pop_back();
      }
    }
  }
  std::vector<unsigned> take() { return std::move(padding_); }

 private:
  struct List {
    std::size_t element = 0;  // where the current element starts
    bool one_a_line = true;
    bool wanted = false;
    unsigned widest = 0;
    std::vector<std::pair<std::size_t, unsigned>> seconds;  // second columns, and the width of what stands before
  };

  void add(std::size_t i, List& list) {
    if (pieces_[i].is(Role::element_start)) {
      list.element = i;
      if (pieces_[i].newlines == 0) list.one_a_line = false;
    }
    if (!pieces_[i].is(Role::aligned)) return;
    unsigned width = 0;
    for (std::size_t k = list.element; k < i; ++k) width += pieces_[k].width;
    list.seconds.emplace_back(i, width);
    list.widest = std::max(list.widest, width);
    if (pieces_[i].gap > 1) list.wanted = true;
  }
  void align(const List& list) {
    if (!list.one_a_line || !list.wanted) return;
    for (const auto& [i, width] : list.seconds) padding_[i] = list.widest - width;
  }

  const std::vector<Piece>& pieces_;
  std::vector<unsigned> padding_;
  std::vector<List> lists_;
};

class Layout {
 public:
  explicit Layout(const std::vector<Piece>& pieces)
      : pieces_(pieces), padding_(Alignment(pieces).take()), forced_(pieces.size(), false) {
    measure();
  }

  std::string run() {
    for (std::size_t i = 0; i < pieces_.size();) {
      const bool breaks = breaks_before(i);
      if (!breaks && overflows(i) && retreat(i)) continue;
      if (breaks) {
        begin_line(i);
      } else {
        continue_line(i);
      }
      put(i);
      ++i;
    }
    if (!out_.empty()) out_ += '\n';
    return std::move(out_);
  }

 private:
  struct Frame {
    enum class Kind : std::uint8_t { block, inline_block, list };
    Kind kind = Kind::block;
    unsigned indent = 0;        // of what stands inside
    unsigned close_indent = 0;  // of the closing bracket
    bool opened_with_break = false;
  };
  struct State {
    std::vector<Frame> frames{Frame{}};
    unsigned column = 0;
    unsigned indent = 0;          // of this line
    int shift = 0;                // how far this line has moved
    bool keeps_columns = false;   // this line is one of the author's
    bool item_has_lines = false;  // the current item has more than one line
  };
  /// A place in the current line where it may be broken.
  struct Candidate {
    std::size_t piece;
    std::size_t depth;
    std::size_t out_size;
    State state;
  };

  /// Sums that tell in constant time how wide a block is on one line, and whether it can stand on one.
  void measure() {
    widths_.assign(pieces_.size() + 1, 0);
    lines_.assign(pieces_.size() + 1, 0);
    matches_.assign(pieces_.size(), 0);
    std::vector<std::size_t> open;
    for (std::size_t i = 0; i < pieces_.size(); ++i) {
      const Piece& p = pieces_[i];
      const bool space = i > 0 && spaced(pieces_[i - 1], p);
      widths_[i + 1] = widths_[i] + p.width + (space ? 1U : 0U);
      lines_[i + 1] = lines_[i] + p.newlines + static_cast<unsigned>(std::count(p.text.begin(), p.text.end(), '\n'));
      if (p.is(Role::block_open)) open.push_back(i);
      if (p.is(Role::block_close) && !open.empty()) {
        matches_[open.back()] = i;
        open.pop_back();
      }
    }
  }

  [[nodiscard]] bool breaks_before(std::size_t i) const {
    if (i == 0) return false;
    const Piece& p = pieces_[i];
    const Piece& previous = pieces_[i - 1];
    const Frame& top = state_.frames.back();
    if (previous.type == PkLexer::LINE_COMMENT) return true;
    if (inline_depth_ > 0) return false;
    if (is_comment(p)) return p.newlines > 0;
    if (p.is(Role::item_start) || p.is(Role::statement_start)) return true;
    if (p.is(Role::block_close)) return !previous.is(Role::block_open);
    const bool clause = p.is(Role::clause_start) && state_.frames.size() == 1;
    if (p.is(Role::item_block) || clause) return state_.item_has_lines || (clause && (p.newlines > 0 || forced_[i]));
    if (p.is(Role::block_open)) return p.is(Role::loose_block) && p.newlines > 0;
    if (p.is(Role::list_close)) return p.newlines > 0 && top.opened_with_break;
    if (forced_[i]) return true;
    const bool glued = p.is(Role::tight) || p.is(Role::tight_before) || p.type == PkLexer::COMMA ||
                       p.type == PkLexer::SEMI || p.type == PkLexer::COLON || p.type == PkLexer::FATARROW ||
                       (p.type == PkLexer::ELSE && previous.is(Role::block_close));
    return !glued && p.newlines > 0;
  }

  [[nodiscard]] bool may_break(std::size_t i) const {
    if (i == 0 || inline_depth_ > 0) return false;
    const bool after_comma = pieces_[i - 1].type == PkLexer::COMMA && !pieces_[i].is(Role::list_close);
    return after_comma || pieces_[i].is(Role::binary) || pieces_[i].is(Role::clause_start);
  }
  /// Whether the piece, and what has to follow it on its line, goes beyond the limit.
  [[nodiscard]] bool overflows(std::size_t i) const {
    if (inline_depth_ > 0 || pieces_[i].type == PkLexer::LINE_COMMENT) return false;
    std::size_t end = i + 1;
    while (end < pieces_.size() && pieces_[end].newlines == 0 &&
           (pieces_[end].is(Role::list_close) || pieces_[end].type == PkLexer::COMMA ||
            pieces_[end].type == PkLexer::SEMI)) {
      ++end;
    }
    return state_.column + padding_[i] + (widths_[end] - widths_[i]) > max_line_width;
  }
  /// Goes back to the best place to break the current line: outside as many brackets as possible, and far right. Gives
  /// false if there is none.
  bool retreat(std::size_t& i) {
    if (may_break(i)) candidates_.push_back({i, state_.frames.size(), out_.size(), state_});
    const auto best = std::min_element(candidates_.rbegin(), candidates_.rend(),
                                       [](const Candidate& a, const Candidate& b) { return a.depth < b.depth; });
    if (best == candidates_.rend() || forced_[best->piece]) return false;
    i = best->piece;
    forced_[i] = true;
    out_.resize(best->out_size);
    state_ = std::move(best->state);
    candidates_.clear();
    return true;
  }

  /// Indentation of piece `i` at the start of a line.
  [[nodiscard]] unsigned indentation(std::size_t i) const {
    const Frame& top = state_.frames.back();
    bool comment = false;
    for (; i < pieces_.size() && is_comment(pieces_[i]); ++i) comment = true;
    if (i == pieces_.size()) return top.indent;
    const Piece& p = pieces_[i];
    if (p.is(Role::block_close) || p.is(Role::list_close)) return comment ? top.indent : top.close_indent;
    const bool aligned = top.kind == Frame::Kind::list || p.is(Role::item_start) || p.is(Role::statement_start) ||
                         p.is(Role::clause_start) || p.is(Role::block_open);
    return aligned ? top.indent : top.indent + indent_width;
  }

  void begin_line(std::size_t i) {
    const Piece& p = pieces_[i];
    const Piece& previous = pieces_[i - 1];
    out_ += '\n';
    const bool opens = previous.is(Role::block_open) || previous.is(Role::list_open) ||
                       (i > 1 && previous.newlines == 0 && is_comment(previous) && pieces_[i - 2].is(Role::block_open));
    const bool separable =
        p.is(Role::item_start) || p.is(Role::statement_start) || p.is(Role::element_start) || is_comment(p);
    if (p.newlines > 1 && separable && !opens) out_ += '\n';
    state_.item_has_lines = true;
    if (previous.is(Role::list_open)) {
      Frame& list = state_.frames.back();
      list.opened_with_break = true;
      list.indent = list.close_indent = state_.indent;
      list.indent += indent_width;
    }
    state_.indent = indentation(i);
    state_.column = state_.indent;
    state_.keeps_columns = p.newlines > 0;
    state_.shift = static_cast<int>(state_.indent) - static_cast<int>(p.column);
    out_.append(state_.indent, ' ');
    candidates_.clear();
  }
  void continue_line(std::size_t i) {
    if (i == 0) {
      state_.keeps_columns = true;
      return;
    }
    const Piece& p = pieces_[i];
    if (p.newlines > 0) state_.keeps_columns = false;
    if (may_break(i)) candidates_.push_back({i, state_.frames.size(), out_.size(), state_});
    unsigned spaces = spaced(pieces_[i - 1], p) ? 1 + padding_[i] : 0;
    if (p.type == PkLexer::LINE_COMMENT) {
      spaces = 2;
      const int wanted = static_cast<int>(p.column) + state_.shift - static_cast<int>(state_.column);
      if (state_.keeps_columns && wanted > 2) spaces = static_cast<unsigned>(wanted);
    }
    out_.append(spaces, ' ');
    state_.column += spaces;
  }

  void put(std::size_t i) {
    const Piece& p = pieces_[i];
    if (p.is(Role::item_start)) state_.item_has_lines = false;
    if (p.is(Role::block_open)) open_block(i);
    if (p.is(Role::list_open)) {
      // Without a break behind the bracket, further lines stand below what follows it.
      state_.frames.push_back({Frame::Kind::list, state_.column + p.width, state_.column, false});
    }
    if (p.is(Role::block_close) || p.is(Role::list_close)) close();
    out_ += p.text;
    const std::size_t last_line = p.text.rfind('\n');
    state_.column = last_line == std::string_view::npos ? state_.column + p.width
                                                        : static_cast<unsigned>(p.text.size() - last_line - 1);
  }
  void open_block(std::size_t i) {
    const unsigned base = statement_indent();
    const std::size_t end = matches_[i];
    const bool one_line = lines_[end + 1] == lines_[i + 1];
    const bool fits = state_.column + (widths_[end + 1] - widths_[i + 1]) + 1 <= max_line_width;
    if (inline_depth_ > 0 || (one_line && fits)) {
      ++inline_depth_;
      state_.frames.push_back({Frame::Kind::inline_block, base, base, false});
    } else {
      state_.frames.push_back({Frame::Kind::block, base + indent_width, base, false});
    }
  }
  void close() {
    if (state_.frames.size() == 1) return;
    if (state_.frames.back().kind == Frame::Kind::inline_block) --inline_depth_;
    state_.frames.pop_back();
  }
  /// Where the statement begins that the next block belongs to.
  [[nodiscard]] unsigned statement_indent() const { return state_.frames.back().indent; }

  const std::vector<Piece>& pieces_;
  std::vector<unsigned> padding_;
  std::vector<bool> forced_;
  std::vector<unsigned> widths_;      // of the pieces before, on one line
  std::vector<unsigned> lines_;       // line ends before
  std::vector<std::size_t> matches_;  // of a brace that opens a block: the one that closes it
  std::string out_;
  State state_;
  std::vector<Candidate> candidates_;
  int inline_depth_ = 0;  // blocks on one line around the current place
};

}  // namespace

std::string lay_out(const std::vector<Piece>& pieces) { return Layout(pieces).run(); }

}  // namespace pk
