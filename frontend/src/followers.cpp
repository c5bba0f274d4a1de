#include "pk/frontend/followers.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace pk {
namespace {

bool is_syntax_error(const Diagnostic& d) { return d.code >= 100 && d.code < 200; }

/// A string or comment without end swallows brackets.
bool swallows(const Diagnostic& d) { return d.code == diag::unterminated::code; }
bool is_bracket_error(const Diagnostic& d) {
  return d.code == diag::unclosed_bracket::code || d.code == diag::unmatched_bracket::code;
}

class Followers {
 public:
  Followers(const Sources& sources, const ast::Ast& tree, const std::vector<Diagnostic>& all) : sources_(sources) {
    for (const Diagnostic& d : all) {
      if (!is_syntax_error(d) || !d.span.valid()) continue;
      lines_.insert(line_of(d.span));
      if (swallows(d) || is_bracket_error(d)) spoilt_.push_back(item_around(tree, d.span));
      if (is_bracket_error(d)) keep_bracket_error(item_around(tree, d.span), d);
      if (swallows(d)) swallowed_.push_back(item_around(tree, d.span));
    }
  }

  [[nodiscard]] bool contain(const Diagnostic& d) const {
    if (!d.span.valid()) return false;
    if (is_bracket_error(d)) return within(swallowed_, d.span) || !is_kept(d);
    if (is_syntax_error(d)) return false;
    return lines_.contains(line_of(d.span)) || within(spoilt_, d.span);
  }

 private:
  using Line = std::pair<FileId, unsigned>;
  [[nodiscard]] Line line_of(Span span) const { return {span.file, sources_.position(span.file, span.begin).line}; }

  /// Of an item's bracket errors one is the mistake: the first bracket that closes nothing, or else the first that
  /// stays open.
  void keep_bracket_error(Span item, const Diagnostic& d) {
    const auto [place, is_new] = kept_.try_emplace(item, d.code, d.span);
    const bool closes = d.code == diag::unmatched_bracket::code;
    const bool kept_closes = place->second.first == diag::unmatched_bracket::code;
    if (!is_new && closes >= kept_closes && (closes != kept_closes || d.span < place->second.second)) {
      place->second = {d.code, d.span};
    }
  }
  [[nodiscard]] bool is_kept(const Diagnostic& d) const {
    return std::any_of(kept_.begin(), kept_.end(),
                       [&](const auto& k) { return k.second == std::pair(d.code, d.span); });
  }

  static bool within(const std::vector<Span>& items, Span span) {
    return std::any_of(items.begin(), items.end(), [&](Span item) {
      return span.file == item.file && span.begin >= item.begin && span.begin < item.end;
    });
  }

  /// The item that holds `mistake`, up to where the next one begins: its own span may end at the mistake.
  [[nodiscard]] Span item_around(const ast::Ast& tree, Span mistake) const {
    Span item{mistake.file, mistake.begin, static_cast<std::uint32_t>(sources_.text(mistake.file).size())};
    if (mistake.file != tree.file) return item;
    for (const ast::Item& i : tree.items) {
      if (i.span.begin <= mistake.begin) item.begin = i.span.begin;
      if (i.span.begin > mistake.begin) item.end = std::min(item.end, i.span.begin);
    }
    return item;
  }

  const Sources& sources_;
  std::set<Line> lines_;
  std::vector<Span> spoilt_;                   // items in which nothing but syntax can be judged
  std::map<Span, std::pair<int, Span>> kept_;  // for each item the code and place of its bracket error
  std::vector<Span> swallowed_;                // items in which brackets cannot be judged either
};

}  // namespace

void drop_followers(const Sources& sources, const ast::Ast& tree, Diagnostics& diags) {
  std::vector<Diagnostic> all = diags.take();
  const Followers followers(sources, tree, all);
  for (Diagnostic& d : all) {
    if (!followers.contain(d)) diags.add(std::move(d));
  }
}

}  // namespace pk
