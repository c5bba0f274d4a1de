#include <fmt/format.h>

#include <iterator>

#include "pk/frontend/parse.h"

namespace pk {
namespace {

using namespace ast;

std::string_view spelling(UnaryOp op) {
  switch (op) {
    case UnaryOp::negate:
      return "-";
    case UnaryOp::logical_not:
      return "!";
    case UnaryOp::bit_not:
      return "~";
  }
  return "?";
}

std::string_view spelling(BinaryOp op) {
  switch (op) {
    case BinaryOp::add:
      return "+";
    case BinaryOp::sub:
      return "-";
    case BinaryOp::mul:
      return "*";
    case BinaryOp::div:
      return "/";
    case BinaryOp::rem:
      return "%";
    case BinaryOp::shl:
      return "<<";
    case BinaryOp::shr:
      return ">>";
    case BinaryOp::bit_and:
      return "&";
    case BinaryOp::bit_or:
      return "|";
    case BinaryOp::bit_xor:
      return "^";
    case BinaryOp::eq:
      return "==";
    case BinaryOp::ne:
      return "!=";
    case BinaryOp::lt:
      return "<";
    case BinaryOp::le:
      return "<=";
    case BinaryOp::gt:
      return ">";
    case BinaryOp::ge:
      return ">=";
    case BinaryOp::logical_and:
      return "&&";
    case BinaryOp::logical_or:
      return "||";
  }
  return "?";
}

std::string_view spelling(Mode mode) {
  switch (mode) {
    case Mode::value:
      return "";
    case Mode::in:
      return "in ";
    case Mode::out:
      return "out ";
    case Mode::inout:
      return "inout ";
  }
  return "?";
}

std::string_view spelling(Axis::Kind kind) {
  switch (kind) {
    case Axis::Kind::grid:
      return "grid";
    case Axis::Kind::cluster:
      return "cluster";
    case Axis::Kind::wg:
      return "wg";
  }
  return "?";
}

/// Items and statements stand on lines of their own, indented by their depth; expressions and types stand within these
/// lines, with every operation in parentheses, so that one sees how the text was understood.
class Printer {
 public:
  Printer(const Sources& sources, const Ast& tree) : sources_(sources), tree_(tree) {}

  std::string print() {
    for (const Item& i : tree_.items) item(i);
    return std::move(out_);
  }

 private:
  template <class... Args>
  void put(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(out_), format, std::forward<Args>(args)...);
  }
  /// Begins a line for something at `span`; end_line() ends it.
  void begin_line(Span span) {
    out_.append(static_cast<std::size_t>(2 * depth_), ' ');
    line_span_ = span;
  }
  void end_line() {
    const LineColumn at = sources_.position(tree_.file, line_span_.begin);
    put("  @{}:{}\n", at.line, at.column);
  }

  // ---- expressions and types

  template <class List, class Each>
  void list(std::string_view open, const List& elements, std::string_view close, Each each) {
    out_ += open;
    bool first = true;
    for (const auto& e : elements) {
      if (!first) out_ += ", ";
      first = false;
      each(e);
    }
    out_ += close;
  }
  void exprs(std::string_view open, const std::vector<ExprId>& elements, std::string_view close) {
    list(open, elements, close, [this](ExprId e) { expr(e); });
  }
  void args(std::string_view open, const std::vector<Arg>& elements, std::string_view close) {
    list(open, elements, close, [this](const Arg& a) {
      if (a.name.present()) put("{} = ", a.name.text);
      expr(a.value);
    });
  }
  void generic_args(const std::vector<Arg>& elements) {
    if (!elements.empty()) args("<", elements, ">");
  }
  void expr(ExprId id) {
    if (!id.valid()) {
      out_ += "<none>";
      return;
    }
    std::visit([this](const auto& node) { this->node(node); }, tree_[id].node);
  }
  void node(const ErrorExpr&) { out_ += "<error>"; }
  void node(const IntLiteral& e) { put("{}", e.value); }
  void node(const FloatLiteral& e) {
    const std::string text = fmt::format("{}", e.value);
    out_ += text;
    if (text.find_first_not_of("0123456789") == std::string::npos) out_ += ".0";
  }
  void node(const BoolLiteral& e) { out_ += e.value ? "true" : "false"; }
  void node(const StringLiteral& e) {
    out_ += '"';
    for (const char c : e.value) {
      switch (c) {
        case '\n':
          out_ += "\\n";
          break;
        case '\t':
          out_ += "\\t";
          break;
        case '\0':
          out_ += "\\0";
          break;
        case '"':
        case '\\':
          out_ += '\\';
          out_ += c;
          break;
        default:
          out_ += c;
      }
    }
    out_ += '"';
  }
  void node(const NameExpr& e) { out_ += e.name.text; }
  void node(const Unary& e) {
    put("({}", spelling(e.op));
    expr(e.operand);
    out_ += ')';
  }
  void node(const Binary& e) {
    out_ += '(';
    expr(e.left);
    put(" {} ", spelling(e.op));
    expr(e.right);
    out_ += ')';
  }
  void node(const Cast& e) {
    out_ += '(';
    expr(e.operand);
    put(" as {})", e.type.text);
  }
  void node(const IndexExpr& e) {
    expr(e.base);
    list(e.at ? ".at[" : "[", e.indices, "]", [this](const Index& i) { index(i); });
  }
  void index(const Index& i) {
    switch (i.kind) {
      case Index::Kind::single:
        expr(i.first);
        return;
      case Index::Kind::range:
        if (i.first.valid()) expr(i.first);
        out_ += ':';
        if (i.second.valid()) expr(i.second);
        return;
      case Index::Kind::sized:
        expr(i.first);
        out_ += " +: ";
        expr(i.second);
        return;
      case Index::Kind::full:
        out_ += ':';
        return;
      case Index::Kind::ellipsis:
        out_ += "...";
        return;
      case Index::Kind::new_axis:
        out_ += "new";
        return;
    }
  }
  void node(const Member& e) {
    expr(e.base);
    put(".{}", e.name.text);
  }
  void node(const Peer& e) {
    expr(e.base);
    args(".peer[", e.coordinates, "]");
  }
  void node(const Call& e) {
    expr(e.callee);
    generic_args(e.generics);
    args("(", e.args, ")");
  }
  void node(const Launch& e) {
    put("(launch {}", e.kernel.text);
    generic_args(e.generics);
    args("(", e.args, "))");
  }
  void node(const Tuple& e) { exprs("(", e.elements, e.elements.size() == 1 ? ",)" : ")"); }
  void node(const SetExpr& e) { exprs("{", e.elements, "}"); }
  void node(const ListExpr& e) { exprs("[", e.elements, "]"); }

  void type(TypeId id) {
    if (!id.valid()) return;
    const TypeExpr& t = tree_[id];
    if (!t.tuple.empty()) {
      list("(", t.tuple, ")", [this](TypeId member) { type(member); });
      return;
    }
    if (t.space.present()) put("{} ", t.space.text);
    out_ += t.base.present() ? t.base.text : std::string_view("<error>");
    if (t.any_shape) {
      out_ += "[...]";
    } else if (t.brackets) {
      exprs("[", t.dims, "]");
    }
  }
  void optional_type(TypeId id) {
    if (!id.valid()) return;
    out_ += ": ";
    type(id);
  }
  void attribute(const Attribute& a) {
    put(" {}", a.name.text);
    if (!a.args.empty()) exprs("(", a.args, ")");
  }
  void attributes(const std::vector<Attribute>& list) {
    for (const Attribute& a : list) attribute(a);
  }

  // ---- statements

  void block(std::string_view title, const Block& b) {
    begin_line(b.span);
    out_ += title;
    end_line();
    ++depth_;
    for (const StmtId s : b.stmts) stmt(s);
    --depth_;
  }
  /// The statements of `b`, one level deeper than the line that was just printed.
  void body(const Block& b) {
    ++depth_;
    for (const StmtId s : b.stmts) stmt(s);
    --depth_;
  }
  void stmt(StmtId id) {
    const Stmt& s = tree_[id];
    begin_line(s.span);
    std::visit([this](const auto& node) { this->node(node); }, s.node);
  }
  void node(const ErrorStmt&) {
    out_ += "error";
    end_line();
  }
  void node(const Let& s) {
    out_ += s.mutable_ ? "var " : "let ";
    list("", s.names, "", [this](const Name& n) { out_ += n.text; });
    optional_type(s.type);
    out_ += " = ";
    expr(s.init);
    end_line();
  }
  void node(const Const& c) {
    put("const {}", c.name.text);
    optional_type(c.type);
    out_ += " = ";
    expr(c.value);
    end_line();
  }
  void node(const Assign& s) {
    out_ += "assign ";
    expr(s.target);
    put(" {}= ", s.op ? spelling(*s.op) : std::string_view());
    expr(s.value);
    end_line();
  }
  void node(const ExprStmt& s) {
    out_ += "expr ";
    expr(s.expr);
    end_line();
  }
  void node(const If& s) {
    out_ += "if ";
    expr(s.condition);
    end_line();
    body(s.then);
    if (s.otherwise) block("else", *s.otherwise);
  }
  void node(const For& s) {
    put("{}for {} in ", s.unroll ? "unroll " : "", s.variable.text);
    expr(s.low);
    out_ += " .. ";
    expr(s.high);
    if (s.step.valid()) {
      out_ += " step ";
      expr(s.step);
    }
    end_line();
    body(s.body);
  }
  void node(const While& s) {
    out_ += "while ";
    expr(s.condition);
    end_line();
    body(s.body);
  }
  void node(const Break&) {
    out_ += "break";
    end_line();
  }
  void node(const Continue&) {
    out_ += "continue";
    end_line();
  }
  void node(const Return& s) {
    out_ += "return";
    if (s.value.valid()) {
      out_ += ' ';
      expr(s.value);
    }
    end_line();
  }
  void titled(std::string_view title, const Block& b) {
    out_ += title;
    end_line();
    body(b);
  }
  void node(const BlockStmt& s) { titled("block", s.block); }
  void node(const Fast& s) { titled("fast", s.block); }
  void node(const Step& s) { titled("step", s.block); }
  void node(const ExpectError& s) {
    out_ += "expect_error ";
    expr(s.code);
    end_line();
    body(s.block);
  }
  void allocs(const std::vector<Alloc>& list) {
    for (const Alloc& a : list) alloc(a);
  }
  void alloc(const Alloc& a) {
    begin_line(a.span);
    if (!a.name.present() && !a.type.valid()) {
      out_ += "union";
      end_line();
      ++depth_;
      allocs(a.members);
      --depth_;
      return;
    }
    put("alloc {}", a.name.text);
    optional_type(a.type);
    attributes(a.attributes);
    if (a.init.valid()) {
      out_ += " = ";
      expr(a.init);
    }
    end_line();
  }
  void node(const Scoped& s) {
    out_ += "scoped";
    if (s.collective) attribute(*s.collective);
    end_line();
    ++depth_;
    allocs(s.allocs);
    --depth_;
    body(s.body);
  }
  void node(const Specialize& s) {
    put("specialize {}", s.axis.text);
    end_line();
    ++depth_;
    for (const Arm& a : s.arms) {
      begin_line(a.selector);
      out_ += "arm ";
      if (a.threads.empty()) out_ += "else";
      exprs("", a.threads, "");
      if (a.registers) attribute(*a.registers);
      end_line();
      body(a.body);
    }
    --depth_;
  }
  void node(const Pipeline& p) {
    out_ += "pipeline ";
    list("", p.ranges, "", [this](const PipelineRange& r) {
      put("{} in ", r.variable.text);
      expr(r.low);
      out_ += " .. ";
      expr(r.high);
    });
    attributes(p.attributes);
    end_line();
    ++depth_;
    if (p.roles) roles(*p.roles);
    for (const Transfer& t : p.transfers) {
      begin_line(t.span);
      put("{} {} = ", t.store ? "store" : "load", t.name.text);
      expr(t.view);
      attributes(t.attributes);
      end_line();
    }
    block(p.compute_form ? "compute" : "step", p.body);
    --depth_;
  }
  void roles(const PipelineRoles& r) {
    begin_line(r.span);
    put("specialize {} memory ", r.axis.text);
    expr(r.memory);
    if (r.memory_registers) attribute(*r.memory_registers);
    exprs(" compute ", r.compute, "");
    if (r.compute_registers) attribute(*r.compute_registers);
    end_line();
  }

  // ---- items

  void item(const Item& i) {
    begin_line(i.span);
    if (i.broken) out_ += "broken ";
    std::visit([this](const auto& node) { this->item_node(node); }, i.node);
  }
  void item_node(const Import& i) {
    out_ += "import ";
    for (std::size_t k = 0; k < i.path.size(); ++k) put("{}{}", k > 0 ? "." : "", i.path[k].text);
    end_line();
  }
  void item_node(const Const& c) { node(c); }
  void item_node(const MeshItem& m) {
    put("mesh {}", m.name.text);
    end_line();
    ++depth_;
    params(m.params);
    axes(m.axes);
    --depth_;
  }
  void item_node(const Function& f) {
    put("fn {}", f.name.text);
    if (f.result.valid()) {
      out_ += " -> ";
      type(f.result);
    }
    end_line();
    ++depth_;
    generics(f.generics);
    params(f.params);
    where(f.where);
    block("body", f.body);
    --depth_;
  }
  void item_node(const Kernel& k) {
    put("kernel {}", k.name.text);
    end_line();
    ++depth_;
    generics(k.generics);
    params(k.params);
    where(k.where);
    if (k.mesh) mesh(*k.mesh);
    if (k.blocked) blocked(*k.blocked);
    block("body", k.body);
    --depth_;
  }
  void item_node(const Test& t) {
    put("test {}", t.name.text);
    end_line();
    body(t.body);
  }
  void generics(const std::vector<Generic>& list) {
    for (const Generic& g : list) {
      begin_line(g.span);
      put("generic {}: ", g.name.text);
      for (std::size_t k = 0; k < g.kinds.size(); ++k) put("{}{}", k > 0 ? " | " : "", g.kinds[k].text);
      if (g.default_value.valid()) {
        out_ += " = ";
        expr(g.default_value);
      }
      end_line();
    }
  }
  void params(const std::vector<Param>& list) {
    for (const Param& p : list) {
      begin_line(p.span);
      put("param {}{}", spelling(p.mode), p.name.text);
      optional_type(p.type);
      attributes(p.attributes);
      if (p.block) {
        exprs(" block[", p.block->shape, "]");
        exprs(" at [", p.block->at, "]");
        attributes(p.block->attributes);
      }
      end_line();
    }
  }
  void where(const std::vector<ExprId>& clauses) {
    for (const ExprId c : clauses) {
      begin_line(tree_[c].span);
      out_ += "where ";
      expr(c);
      end_line();
    }
  }
  void axes(const std::vector<Axis>& list) {
    for (const Axis& a : list) {
      begin_line(a.span);
      put("axis {}", spelling(a.kind));
      if (a.name.present()) put(" {}", a.name.text);
      if (a.size.valid()) {
        out_ += ": ";
        expr(a.size);
      }
      if (a.nonportable) out_ += " nonportable";
      end_line();
    }
  }
  void mesh(const MeshUse& m) {
    begin_line(m.span);
    out_ += "mesh";
    if (m.named.present()) put(" {}", m.named.text);
    if (!m.args.empty()) exprs("(", m.args, ")");
    end_line();
    ++depth_;
    axes(m.axes);
    --depth_;
  }
  void blocked(const BlockedGrid& g) {
    begin_line(g.span);
    out_ += "grid";
    attributes(g.attributes);
    end_line();
    ++depth_;
    for (const BlockedAxis& a : g.axes) {
      begin_line(a.span);
      put("axis {}: {} ", a.name.text, a.sequential ? "sequential" : "parallel");
      expr(a.extent);
      end_line();
    }
    allocs(g.scratch);
    --depth_;
  }

  const Sources& sources_;
  const Ast& tree_;
  std::string out_;
  int depth_ = 0;
  Span line_span_;
};

}  // namespace

std::string print_ast(const Sources& sources, const Ast& tree) { return Printer(sources, tree).print(); }

}  // namespace pk
