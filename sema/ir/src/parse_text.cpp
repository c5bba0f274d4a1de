// Reads IR text (print.cpp writes it).

#include <fmt/format.h>

#include <cctype>
#include <charconv>
#include <map>

#include "pk/ir/text.h"

namespace pk::ir {
namespace {

struct Token {
  enum class Kind : std::uint8_t { end, word, number, text, value, sign };
  Kind kind = Kind::end;
  std::string_view text;  ///< strings without their quotes
  std::uint32_t begin = 0;
  std::uint32_t end = 0;
};

bool word_char(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || c == '@'; }

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  Token next() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
    Token t;
    t.begin = static_cast<std::uint32_t>(at_);
    if (at_ >= text_.size()) {
      t.end = t.begin;
      return t;
    }
    const char c = text_[at_];
    if (c == '"') return string(t);
    if (c == '%') {
      ++at_;
      return run(t, Token::Kind::value, 1);
    }
    if (std::isdigit(static_cast<unsigned char>(c)) != 0 ||
        (c == '-' && at_ + 1 < text_.size() && std::isalnum(static_cast<unsigned char>(text_[at_ + 1])) != 0)) {
      ++at_;
      while (at_ < text_.size() &&
             (word_char(text_[at_]) || ((text_[at_] == '-' || text_[at_] == '+') && text_[at_ - 1] == 'e')))
        ++at_;
      return finish(t, Token::Kind::number, 0);
    }
    if (word_char(c)) return run(t, Token::Kind::word, 0);
    ++at_;
    if (c == '?' && at_ < text_.size() && text_[at_] == '?') ++at_;
    return finish(t, Token::Kind::sign, 0);
  }

 private:
  Token run(Token t, Token::Kind kind, std::size_t skip) {
    while (at_ < text_.size() && word_char(text_[at_])) ++at_;
    return finish(t, kind, skip);
  }
  Token finish(Token t, Token::Kind kind, std::size_t skip) {
    t.kind = kind;
    t.end = static_cast<std::uint32_t>(at_);
    t.text = text_.substr(t.begin + skip, at_ - t.begin - skip);
    return t;
  }
  Token string(Token t) {
    ++at_;
    while (at_ < text_.size() && text_[at_] != '"') at_ += text_[at_] == '\\' ? 2 : 1;
    const std::size_t stop = std::min(at_, text_.size());
    at_ = std::min(at_ + 1, text_.size());
    t.kind = Token::Kind::text;
    t.end = static_cast<std::uint32_t>(at_);
    t.text = text_.substr(t.begin + 1, stop - t.begin - 1);
    return t;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

enum class AttrKind : std::uint8_t { flag, integer, real, text, dtype, integers, texts };
struct AttrInfo {
  Attr attr;
  AttrKind kind;
};
std::optional<AttrInfo> find_attr(std::string_view name) {
#define PK_ATTR(name_, kind_, doc_) \
  if (name == #name_) return AttrInfo{Attr::name_, AttrKind::kind_};
#include "pk/ir/attrs.def"
  return std::nullopt;
}

std::optional<Space> find_space(std::string_view name) {
  for (const Space s :
       {Space::gmem, Space::smem, Space::acc, Space::tmem, Space::barrier, Space::cluster_barrier, Space::semaphore}) {
    if (spelling(s) == name) return s;
  }
  return std::nullopt;
}

/// Recursive descent; the first mistake is reported and ends the parse. Nesting is limited.
class Parser {
 public:
  Parser(const Sources& sources, FileId file, Diagnostics& diags)
      : file_(file), diags_(diags), lexer_(sources.text(file)) {
    token_ = lexer_.next();
  }

  std::optional<Kernel> run() {
    word("kernel");
    const Token name = take(Token::Kind::word, "the kernel's name");
    kernel_.name = std::string(name.text.substr(name.text.starts_with('@') ? 1 : 0));
    kernel_.span = span(name);
    if (accept("bind")) list('(', ')', [&] { binding(); });
    if (accept("dims")) list('(', ')', [&] { kernel_.dims.emplace_back(take(Token::Kind::word, "a dimension").text); });
    list('(', ')', [&] { param(); });
    word("mesh");
    list('(', ')', [&] { axis(); });
    kernel_.nonportable_cluster = accept("nonportable");
    sign('{');
    word("launch");
    kernel_.launch = region(0);
    word("body");
    names_.clear();
    kernel_.body = region(0);
    sign('}');
    if (token_.kind != Token::Kind::end) fail("nothing more");
    if (failed_) return std::nullopt;
    return std::move(kernel_);
  }

 private:
  static constexpr int max_depth = 200;

  [[nodiscard]] Span span(const Token& t) const { return {file_, t.begin, t.end}; }
  void fail(std::string_view expected) {
    if (failed_) return;
    failed_ = true;
    const std::string_view found = token_.kind == Token::Kind::end ? std::string_view("the end") : token_.text;
    diags_.report<diag::bad_ir_text>(span(token_), fmt::format("expected {}, found `{}`", expected, found));
  }
  Token take() {
    const Token t = token_;
    token_ = failed_ ? Token{} : lexer_.next();
    return t;
  }
  Token take(Token::Kind kind, std::string_view what) {
    if (token_.kind != kind) fail(what);
    return take();
  }
  [[nodiscard]] bool is(char c) const {
    return token_.kind == Token::Kind::sign && token_.text.size() == 1 && token_.text[0] == c;
  }
  bool accept(char c) {
    if (!is(c)) return false;
    take();
    return true;
  }
  bool accept(std::string_view text) {
    if (token_.kind != Token::Kind::word || token_.text != text) return false;
    take();
    return true;
  }
  void sign(char c) {
    if (!accept(c)) fail(fmt::format("`{}`", c));
  }
  void word(std::string_view text) {
    if (!accept(text)) fail(fmt::format("`{}`", text));
  }
  template <class Item>
  void list(char open, char close, Item item) {
    sign(open);
    if (accept(close)) return;
    do item();
    while (!failed_ && accept(','));
    sign(close);
  }
  std::int64_t integer() {
    const Token t = take(Token::Kind::number, "a number");
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(t.text.data(), t.text.data() + t.text.size(), value);
    if (error != std::errc{} || end != t.text.data() + t.text.size()) fail("an integer");
    return value;
  }
  static std::string unquoted(std::string_view text) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i] == '\\' && i + 1 < text.size()) {
        ++i;
        out += text[i] == 'n' ? '\n' : text[i];
      } else {
        out += text[i];
      }
    }
    return out;
  }

  // ---- head

  void binding() {
    const std::string name(take(Token::Kind::word, "a generic").text);
    sign('=');
    kernel_.bindings.emplace_back(name, unquoted(take(Token::Kind::text, "its value").text));
  }
  void param() {
    Param p;
    const Token name = take(Token::Kind::word, "a parameter");
    p.name = std::string(name.text);
    p.span = span(name);
    sign(':');
    const std::string_view mode = take(Token::Kind::word, "a mode").text;
    p.mode = mode == "in" ? Mode::in : mode == "out" ? Mode::out : mode == "inout" ? Mode::inout : Mode::value;
    const Dtype dtype = element();
    if (!is('[')) {
      p.type = Type::scalar(dtype);
    } else {
      list('[', ']', [&] { p.dims.push_back(param_dim()); });
      Shape shape;
      for (const ParamDim& d : p.dims) shape.push_back(d.kind == ParamDim::Kind::constant ? d.value : dynamic_extent);
      p.type = Type::ref(Space::gmem, dtype, std::move(shape));
    }
    kernel_.params.push_back(std::move(p));
  }
  ParamDim param_dim() {
    if (token_.kind == Token::Kind::number) return {ParamDim::Kind::constant, integer()};
    if (accept('=')) return {ParamDim::Kind::computed, integer()};
    const std::string_view name = token_.text;
    for (std::size_t i = 0; i < kernel_.dims.size(); ++i) {
      if (kernel_.dims[i] != name) continue;
      take();
      return {ParamDim::Kind::symbol, static_cast<std::int64_t>(i)};
    }
    fail("a number or a dimension of dims(…)");
    return {};
  }
  void axis() {
    MeshAxis a;
    const std::string_view kind = take(Token::Kind::word, "grid, cluster or wg").text;
    a.kind = kind == "cluster" ? MeshAxis::Kind::cluster : kind == "wg" ? MeshAxis::Kind::wg : MeshAxis::Kind::grid;
    a.name = std::string(take(Token::Kind::word, "the axis's name").text);
    sign(':');
    a.size = extent();
    kernel_.axes.push_back(std::move(a));
  }

  // ---- types

  Dtype element() {
    const auto dtype = parse_dtype(token_.text);
    if (!dtype) fail("an element type");
    take();
    return dtype.value_or(Dtype::f32);
  }
  std::int64_t extent() {
    if (token_.kind == Token::Kind::sign && token_.text == "??") {
      take();
      return unresolved_extent;
    }
    return accept('?') ? dynamic_extent : integer();
  }
  Shape shape() {
    Shape out;
    list('[', ']', [&] { out.push_back(extent()); });
    return out;
  }
  Type type() {
    if (accept("none")) return {};
    if (accept("cell")) {
      const Dtype dtype = element();
      return {Type::Kind::cell, dtype, Space::gmem, is('[') ? shape() : Shape{}};
    }
    if (const auto space = find_space(token_.text)) {
      take();
      const Dtype dtype = is('[') ? Dtype::f32 : element();
      return Type::ref(*space, dtype, shape());
    }
    const Dtype dtype = element();
    return is('[') ? Type::tile(dtype, shape()) : Type::scalar(dtype);
  }

  // ---- regions

  Value define(const Token& name, Type type) {
    const bool number = !name.text.empty() && std::isdigit(static_cast<unsigned char>(name.text[0])) != 0;
    const Value v = kernel_.new_value(std::move(type), number ? std::string() : std::string(name.text));
    names_[name.text] = v;
    return v;
  }
  Value use() {
    const Token t = take(Token::Kind::value, "a value");
    const auto at = names_.find(t.text);
    if (at != names_.end()) return at->second;
    if (!failed_) {
      failed_ = true;
      diags_.report<diag::bad_ir_text>(span(t), fmt::format("`%{}` is not defined here", t.text));
    }
    return {};
  }
  Region region(int depth) {
    Region r;
    if (depth > max_depth) {
      fail("less nesting");
      return r;
    }
    if (is('(')) {
      list('(', ')', [&] {
        const Token name = take(Token::Kind::value, "a value");
        sign(':');
        r.args.push_back(define(name, type()));
      });
    }
    sign('{');
    while (!failed_ && !accept('}')) r.insts.push_back(inst(depth));
    return r;
  }
  Inst inst(int depth) {
    const Token first = token_;
    std::vector<Token> results;
    if (token_.kind == Token::Kind::value) {
      do results.push_back(take(Token::Kind::value, "a value"));
      while (!failed_ && accept(','));
      sign('=');
    }
    const Token name = take(Token::Kind::word, "an operation");
    const auto op = parse_op(name.text);
    if (!op && !failed_) {
      failed_ = true;
      diags_.report<diag::bad_ir_text>(span(name), fmt::format("there is no operation `{}`", name.text));
    }
    Inst out{op.value_or(Op::yield), {cover(span(first), span(name)), {}}, {}, {}, {}, {}};
    const bool more = token_.kind == Token::Kind::value && info(out.op).max_operands != 0;
    if (more) {
      do out.operands.push_back(use());
      while (!failed_ && accept(','));
    }
    if (is('{') && info(out.op).regions == 0) attrs(out.attrs);
    if (is('{') && info(out.op).regions != 0) region_or_attrs(out, depth);
    while (!failed_ && (is('{') || is('('))) out.regions.push_back(region(depth + 1));
    if (out.op == Op::if_ && out.regions.size() == 1) out.regions.emplace_back();  // `else` may be left out
    if (!results.empty()) {
      sign(':');
      std::vector<Type> types;
      do types.push_back(type());
      while (!failed_ && accept(','));
      if (types.size() != results.size()) fail("one type for each result");
      for (std::size_t i = 0; i < results.size() && i < types.size(); ++i)
        out.results.push_back(define(results[i], types[i]));
    }
    return out;
  }
  /// Behind an operation with regions, `{` may open its attributes or its first region: attributes are `word =`,
  /// `word,` or `word }`.
  void region_or_attrs(Inst& out, int depth) {
    Lexer ahead = lexer_;
    const Token a = ahead.next();
    const Token b = ahead.next();
    const bool attribute = token_.text == "{" && a.kind == Token::Kind::word && find_attr(a.text) &&
                           b.kind == Token::Kind::sign && (b.text == "=" || b.text == "," || b.text == "}");
    if (attribute) {
      attrs(out.attrs);
    } else {
      out.regions.push_back(region(depth + 1));
    }
  }
  void attrs(Attrs& out) {
    list('{', '}', [&] {
      const Token name = take(Token::Kind::word, "an attribute");
      const auto row = find_attr(name.text);
      if (!row) {
        fail(fmt::format("an attribute; there is no `{}`", name.text));
        return;
      }
      if (!accept('=')) {
        out.set(row->attr, true);
        return;
      }
      out.set(row->attr, attr_value(row->kind));
    });
  }
  AttrValue attr_value(AttrKind kind) {
    switch (kind) {
      case AttrKind::flag:
        return accept("true") || !accept("false");
      case AttrKind::integer:
        return integer();
      case AttrKind::real:
        return real();
      case AttrKind::text:
        return unquoted(take(Token::Kind::text, "a string").text);
      case AttrKind::dtype:
        return element();
      case AttrKind::integers: {
        std::vector<std::int64_t> values;
        list('[', ']', [&] { values.push_back(integer()); });
        return values;
      }
      case AttrKind::texts: {
        std::vector<std::string> values;
        list('[', ']', [&] { values.push_back(unquoted(take(Token::Kind::text, "a string").text)); });
        return values;
      }
    }
    return false;
  }
  double real() {
    const Token t = take();
    double value = 0;
    const auto [end, error] = std::from_chars(t.text.data(), t.text.data() + t.text.size(), value);
    if (error != std::errc{} || end != t.text.data() + t.text.size()) fail("a number");
    return value;
  }

  FileId file_;
  Diagnostics& diags_;
  Lexer lexer_;
  Token token_;
  Kernel kernel_;
  std::map<std::string_view, Value> names_;
  bool failed_ = false;
};

}  // namespace

std::optional<Kernel> parse_kernel(const Sources& sources, FileId file, Diagnostics& diags) {
  return Parser(sources, file, diags).run();
}

}  // namespace pk::ir
