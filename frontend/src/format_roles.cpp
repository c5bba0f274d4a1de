#include "format_roles.h"

namespace pk {
namespace {

using antlr4::ParserRuleContext;
using antlr4::tree::TerminalNode;
using grammar::PkParser;

class RoleFinder {
 public:
  explicit RoleFinder(const std::function<void(std::size_t, Role)>& mark) : mark_(mark) {}

  void item(PkParser::ItemContext& item) {
    first(&item, Role::item_start);
    visit(item);
  }

 private:
  void token(TerminalNode* node, Role role) {
    if (node != nullptr) mark_(node->getSymbol()->getStartIndex(), role);
  }
  void first(ParserRuleContext* ctx, Role role) {
    if (ctx != nullptr) mark_(ctx->getStart()->getStartIndex(), role);
  }
  template <class List>
  void firsts(const List& list, Role role) {
    for (auto* ctx : list) first(ctx, role);
  }

  void visit(ParserRuleContext& ctx) {
    for (antlr4::tree::ParseTree* child : ctx.children) {
      if (auto* node = dynamic_cast<TerminalNode*>(child)) {
        bracket(ctx, *node);
      } else if (auto* inner = dynamic_cast<ParserRuleContext*>(child)) {
        visit(*inner);
      }
    }
    rule(ctx);
  }

  /// Brackets that enclose lists: all but the braces of blocks.
  void bracket(ParserRuleContext& parent, TerminalNode& node) {
    const bool block = parent.getRuleIndex() == PkParser::RuleBlock ||
                       dynamic_cast<PkParser::SpecializeStmtContext*>(&parent) != nullptr;
    const bool roomy = parent.getRuleIndex() == PkParser::RuleAlloc;
    switch (node.getSymbol()->getType()) {
      case PkParser::LBRACE:
      case PkParser::LSET:
        token(&node, block ? Role::block_open : Role::list_open);
        break;
      case PkParser::RBRACE:
        token(&node, block ? Role::block_close : Role::list_close);
        break;
      case PkParser::LPAREN:
      case PkParser::LBRACKET:
        token(&node, Role::list_open);
        if (!spaced_before(parent, node)) token(&node, Role::tight_before);
        return;
      case PkParser::RPAREN:
      case PkParser::RBRACKET:
        token(&node, Role::list_close);
        return;
      default:
        return;
    }
    if (!block && roomy) token(&node, Role::roomy);
  }
  /// Whether a parenthesis or bracket is set off from the word before it.
  static bool spaced_before(ParserRuleContext& parent, TerminalNode& node) {
    if (dynamic_cast<PkParser::ScopedStmtContext*>(&parent) != nullptr) return true;
    switch (parent.getRuleIndex()) {
      case PkParser::RulePrimary:
      case PkParser::RulePattern:
      case PkParser::RulePipeRanges:
      case PkParser::RuleMeshDecl:
        return true;
      case PkParser::RuleType:
        return node.getSymbol()->getType() == PkParser::LPAREN;
      case PkParser::RuleBlockSpec:
        return static_cast<PkParser::BlockSpecContext&>(parent).LBRACKET().back() == &node;
      default:
        return false;
    }
  }

  void rule(ParserRuleContext& ctx) {
    switch (ctx.getRuleIndex()) {
      case PkParser::RuleFnDecl:
        function(static_cast<PkParser::FnDeclContext&>(ctx));
        break;
      case PkParser::RuleKernelDecl:
        kernel(static_cast<PkParser::KernelDeclContext&>(ctx));
        break;
      case PkParser::RuleTestDecl:
        item_body(static_cast<PkParser::TestDeclContext&>(ctx).block());
        break;
      case PkParser::RuleFnParam: {
        auto& param = static_cast<PkParser::FnParamContext&>(ctx);
        parameter(param, param.dirMode(), param.ident());
        break;
      }
      case PkParser::RuleKernelParam: {
        auto& param = static_cast<PkParser::KernelParamContext&>(ctx);
        parameter(param, param.dirMode(), param.ident());
        break;
      }
      case PkParser::RuleAlloc:
        first(&ctx, Role::element_start);
        first(static_cast<PkParser::AllocContext&>(ctx).type(), Role::aligned);
        break;
      case PkParser::RuleGenerics: {
        auto& generics = static_cast<PkParser::GenericsContext&>(ctx);
        angles(generics.LANGLE(), generics.GT());
        break;
      }
      case PkParser::RuleGenericArgs: {
        auto& generics = static_cast<PkParser::GenericArgsContext&>(ctx);
        angles(generics.LANGLE(), generics.GT());
        break;
      }
      case PkParser::RuleIndexEntry:
        token(static_cast<PkParser::IndexEntryContext&>(ctx).COLON(), Role::tight);
        break;
      case PkParser::RuleOperand:
        prefixes(ctx);
        break;
      case PkParser::RuleBinaryOp:
      case PkParser::RuleSumOp:
        first(&ctx, Role::binary);
        break;
      case PkParser::RuleStmt:
        statement(ctx);
        break;
      case PkParser::RuleArm:
        first(&ctx, Role::statement_start);
        break;
      default:
        break;
    }
  }

  void parameter(ParserRuleContext& ctx, ParserRuleContext* mode, ParserRuleContext* name) {
    first(&ctx, Role::element_start);
    if (mode != nullptr) first(name, Role::aligned);
  }
  void item_body(PkParser::BlockContext* block) {
    if (block != nullptr) token(block->LBRACE(), Role::item_block);
  }
  void function(PkParser::FnDeclContext& ctx) {
    first(ctx.whereClause(), Role::clause_start);
    item_body(ctx.block());
  }
  void kernel(PkParser::KernelDeclContext& ctx) {
    first(ctx.whereClause(), Role::clause_start);
    first(ctx.placement(), Role::clause_start);
    item_body(ctx.block());
  }
  void angles(TerminalNode* open, TerminalNode* close) {
    token(open, Role::list_open);
    token(open, Role::tight);
    token(close, Role::list_close);
  }
  void prefixes(ParserRuleContext& ctx) {
    for (antlr4::tree::ParseTree* child : ctx.children) {
      auto* node = dynamic_cast<TerminalNode*>(child);
      if (node != nullptr && node->getSymbol()->getType() != PkParser::AS) token(node, Role::prefix);
    }
  }
  void statement(ParserRuleContext& ctx) {
    first(&ctx, Role::statement_start);
    if (auto* pipeline = dynamic_cast<PkParser::PipelineStmtContext*>(&ctx)) {
      token(pipeline->COMPUTE(), Role::clause_start);
      if (pipeline->COMPUTE() == nullptr && pipeline->block() != nullptr)
        token(pipeline->block()->LBRACE(), Role::loose_block);
    }
  }

  const std::function<void(std::size_t, Role)>& mark_;
};

}  // namespace

void find_roles(PkParser::ItemContext& item, const std::function<void(std::size_t, Role)>& mark) {
  RoleFinder(mark).item(item);
}

}  // namespace pk
