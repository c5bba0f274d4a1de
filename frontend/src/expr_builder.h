#pragma once
// ANTLR's parse trees of expressions, types and attributes to syntax trees. Private to frontend: ast_builder.cpp builds
// statements and items on top. Every method accepts null contexts, which is what ANTLR leaves where text did not parse.

#include <PkParser.h>

#include <optional>

#include "lex.h"
#include "pk/frontend/ast.h"

namespace pk {

/// Deepest expression that later recursive walks have to face.
inline constexpr int max_tree_depth = 1000;

class ExprBuilder {
 public:
  using Parser = grammar::PkParser;

  /// `broken`: the item has syntax errors, so that misplaced parts found here may follow from these and are not
  /// reported.
  ExprBuilder(const Sources& sources, ast::Ast& tree, bool broken, Diagnostics& diags)
      : sources_(sources), tree_(tree), diags_(diags), nowhere_{tree.file, 0, 0}, broken_(broken) {}

  [[nodiscard]] Span span(const antlr4::Token* token) const {
    return token == nullptr ? nowhere_ : token_span(tree_.file, *token);
  }
  [[nodiscard]] Span span(antlr4::tree::TerminalNode* node) const {
    return node == nullptr ? nowhere_ : span(node->getSymbol());
  }
  [[nodiscard]] Span span(antlr4::ParserRuleContext* ctx) const;
  [[nodiscard]] Span between(antlr4::tree::TerminalNode* first, antlr4::tree::TerminalNode* last) const;
  [[nodiscard]] Span span_of(ast::ExprId id) const { return id.valid() ? tree_[id].span : nowhere_; }

  [[nodiscard]] ast::Name name_at(Span s) const { return {sources_.text(s), s}; }
  [[nodiscard]] ast::Name name(Parser::IdentContext* ctx) const { return name_at(span(ctx)); }
  [[nodiscard]] ast::Name name(antlr4::tree::TerminalNode* node) const { return name_at(span(node)); }
  [[nodiscard]] std::vector<ast::Name> names(const std::vector<Parser::IdentContext*>& list) const;

  ast::ExprId expr(Parser::ExprContext* ctx);
  ast::ExprId sum(Parser::SumContext* ctx);
  std::vector<ast::ExprId> exprs(Parser::ExprListContext* ctx);
  std::vector<ast::ExprId> exprs(const std::vector<Parser::ExprContext*>& list);

  ast::TypeId type(Parser::TypeContext* ctx);
  ast::TypeId optional_type(Parser::TypeContext* ctx) { return ctx == nullptr ? ast::TypeId{} : type(ctx); }
  std::vector<ast::Attribute> attributes(const std::vector<Parser::AttributeContext*>& list);
  std::optional<ast::Attribute> registers(Parser::RegistersContext* ctx);
  std::optional<ast::Attribute> collective(Parser::CollectiveContext* ctx);

 private:
  /// An expression and the text it takes, parentheses around it included.
  struct Value {
    ast::ExprId id;
    Span outer;
  };

  template <class Node>
  ast::ExprId make(Span s, Node node);
  ast::ExprId error_expr(Span s) { return tree_.add(ast::Expr{s, ast::ErrorExpr{}}); }
  Value error_value(Span s) { return {error_expr(s), s}; }
  [[nodiscard]] int depth_of(ast::ExprId id) const;

  template <class Op>
  Value chain(const std::vector<Parser::OperandContext*>& operands, const std::vector<Op*>& ops);
  Value combine(ast::BinaryOp op, Span op_span, const Value& left, const Value& right, bool left_is_comparison,
                bool& chained);
  void report_comparison_chain(const Value& left, ast::BinaryOp op, Span op_span, const Value& right);

  Value operand(Parser::OperandContext* ctx);
  Value launch(Parser::LaunchContext* ctx);
  Value postfix(Parser::PostfixContext* ctx);
  Value suffix(const Value& base, Parser::SuffixContext* ctx, Parser::IndexContext* next_index, bool& took_next);
  Value member(const Value& base, Parser::MemberSuffixContext* ctx, Parser::IndexContext* next_index, bool& took_next);
  Value primary(Parser::PrimaryContext* ctx);
  std::vector<ast::Index> indices(Parser::IndexContext* ctx);
  ast::Index index(Parser::IndexEntryContext* ctx);
  std::vector<ast::Arg> coordinates(Parser::IndexContext* ctx);
  std::vector<ast::Arg> generic_args(Parser::GenericArgsContext* ctx);
  std::vector<ast::Arg> args(Parser::ArgsContext* ctx);
  ast::Arg arg(Parser::ArgContext* ctx);
  ast::Name argument_name(ast::ExprId left, Span assign);

  ast::ExprId integer(Span s);
  ast::ExprId floating(Span s);
  ast::ExprId string(Span s);

 protected:
  const Sources& sources_;
  ast::Ast& tree_;
  Diagnostics& diags_;
  Span nowhere_;  // of what did not parse
  bool broken_;

 private:
  std::vector<int> depths_;  // depth of each expression of this item, from first_depth_ on
  std::uint32_t first_depth_ = 0;
  bool depth_reported_ = false;
};

}  // namespace pk
