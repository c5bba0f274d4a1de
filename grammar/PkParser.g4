// Syntax of pk. Every decision needs one or two tokens of lookahead, and everything that programs may have many of in a row
// (operators, prefixes, suffixes, else-ifs) is a loop, so that the depth of the parser's stack is bounded by the nesting of
// brackets. Binary operators form a flat list here; frontend/src/expr_builder.cpp has the table of their precedence.
parser grammar PkParser;
options { tokenVocab = PkLexer; }

file : item EOF ;                       // the driver parses one item at a time
item : importDecl | constDecl | meshDecl | fnDecl | kernelDecl | testDecl ;

importDecl : IMPORT ident (DOT ident)* SEMI ;
constDecl : CONST ident (COLON type)? ASSIGN expr SEMI ;
meshDecl : MESH ident meshParams? ASSIGN LPAREN axis (COMMA axis)* LAST_COMMA? RPAREN SEMI ;
meshParams : LPAREN (meshParam (COMMA meshParam)* LAST_COMMA?)? RPAREN ;
meshParam : ident COLON type ;
axis : axisKind ident? (COLON expr NONPORTABLE?)? ;
axisKind : GRID | CLUSTER | WG ;

fnDecl : FN ident generics? LPAREN (fnParam (COMMA fnParam)* LAST_COMMA?)? RPAREN (ARROW type)? whereClause? block ;
fnParam : dirMode? ident COLON type attribute* ;
kernelDecl : KERNEL ident generics? LPAREN (kernelParam (COMMA kernelParam)* LAST_COMMA?)? RPAREN whereClause? placement? block ;
kernelParam : dirMode? ident COLON type blockSpec? ;
dirMode : IN | OUT | INOUT ;
blockSpec : BLOCK LBRACKET exprList RBRACKET AT LBRACKET exprList RBRACKET attribute* ;
generics : LANGLE generic (COMMA generic)* LAST_COMMA? GT ;
generic : ident COLON ident (OR ident)* (ASSIGN sum)? ;
whereClause : WHERE expr (COMMA expr)* ;
placement : meshUse | blockedGrid ;
meshUse : MESH (LPAREN axis (COMMA axis)* LAST_COMMA? RPAREN | ident (LPAREN exprList? RPAREN)?) ;
blockedGrid : GRID LPAREN blockedAxis (COMMA blockedAxis)* LAST_COMMA? RPAREN attribute* scratch? ;
blockedAxis : ident COLON (PARALLEL | SEQUENTIAL)? expr ;
scratch : SCRATCH LPAREN alloc (COMMA alloc)* LAST_COMMA? RPAREN ;

type : LPAREN type (COMMA type)+ RPAREN | space? ident (LBRACKET (ELLIPSIS | exprList)? RBRACKET)? ;
space : GMEM | SMEM | ACC | TMEM | REGS ;

testDecl : TEST ident block ;

block : LBRACE stmt* RBRACE ;
stmt
  : (LET | VAR) pattern (COLON type)? ASSIGN expr SEMI                                   # letStmt
  | constDecl                                                                            # constStmt
  | IF expr block elsePart*                                                              # ifStmt
  | UNROLL? FOR ident IN expr DOTDOT expr (STEP expr)? block                             # forStmt
  | WHILE expr block                                                                     # whileStmt
  | BREAK SEMI                                                                           # breakStmt
  | CONTINUE SEMI                                                                        # continueStmt
  | RETURN expr? SEMI                                                                    # returnStmt
  | SCOPED collective? LPAREN alloc (COMMA alloc)* LAST_COMMA? RPAREN block              # scopedStmt
  | SPECIALIZE ident LBRACE arm+ RBRACE                                                  # specializeStmt
  | PIPELINE pipeRanges (pipeRoles | attribute)* (transfer (COMMA transfer)* COMMA?)? COMPUTE? block   # pipelineStmt
  | STEP block                                                                           # stepStmt
  | FAST block                                                                           # fastStmt
  | EXPECT_ERROR LPAREN expr RPAREN block                                                # expectErrorStmt
  | block                                                                                # blockStmt
  | expr (assignOp expr)? SEMI                                                           # exprStmt
  ;
elsePart : ELSE (IF expr)? block ;      // the tree builder refuses a part behind the `else` without `if`
pattern : ident | LPAREN ident (COMMA ident)+ LAST_COMMA? RPAREN ;
assignOp : ASSIGN | PLUS_ASSIGN | MINUS_ASSIGN | STAR_ASSIGN | SLASH_ASSIGN | PERCENT_ASSIGN | AND_ASSIGN | OR_ASSIGN
         | XOR_ASSIGN | SHL_ASSIGN | SHR_ASSIGN ;

collective : COLLECTIVE LPAREN ident (COMMA ident)* LAST_COMMA? RPAREN ;
alloc : UNION LBRACE alloc (COMMA alloc)* LAST_COMMA? RBRACE
      | ident COLON type attribute* (ASSIGN expr)? ;
attribute : attributeName LPAREN exprList RPAREN | GLOBAL ;
attributeName : ARRIVALS | TILED | SWIZZLE | COLLECTIVE | OOB | DELAY_RELEASE | STAGES ;

arm : armSelector registers? FATARROW block (COMMA | LAST_COMMA)? ;
armSelector : ELSE | exprList ;
registers : REGISTERS LPAREN expr RPAREN ;

pipeRanges : ident IN pipeRange
           | LPAREN ident (COMMA ident)* LAST_COMMA? RPAREN IN LPAREN pipeRange (COMMA pipeRange)* LAST_COMMA? RPAREN ;
pipeRange : expr DOTDOT expr ;
pipeRoles : SPECIALIZE LPAREN ident COMMA MEMORY expr registers? COMMA COMPUTE expr (COMMA expr)* registers? LAST_COMMA? RPAREN ;
transfer : (LOAD | STORE) ident ASSIGN expr attribute* ;

exprList : expr (COMMA expr)* LAST_COMMA? ;
expr : operand (binaryOp operand)* ;
binaryOp : sumOp | OROR | ANDAND | EQ | NE | LT | GT | LE | GE | OR | XOR | AND | SHL | SHR ;
sum : operand (sumOp operand)* ;        // what may stand between the angle brackets of generics
sumOp : PLUS | MINUS | STAR | SLASH | PERCENT ;
operand : (MINUS | NOT | TILDE)* (launch | postfix) (AS ident)* ;
launch : LAUNCH ident genericArgs? LPAREN args? RPAREN ;
postfix : primary suffix* ;
suffix : DOT ident                                        # memberSuffix
       | index                                            # indexSuffix
       | genericArgs? LPAREN args? RPAREN                 # callSuffix
       ;
genericArgs : LANGLE genericArg (COMMA genericArg)* LAST_COMMA? GT ;
genericArg : sum (ASSIGN sum)? ;        // left of `=`, here and below, the tree builder accepts a name only
index : LBRACKET indexEntry (COMMA indexEntry)* LAST_COMMA? RBRACKET ;
indexEntry : ELLIPSIS
           | NEW
           | COLON expr?
           | expr (PLUSCOLON expr | COLON expr? | ASSIGN expr)?      // the last form after `.peer` only
           ;
args : arg (COMMA arg)* LAST_COMMA? ;
arg : expr (ASSIGN expr)? ;
primary : INT | FLOAT | STRING | TRUE | FALSE | INF_ | NAN_ | ident
        | LPAREN exprList RPAREN | LSET exprList RBRACE | LBRACKET exprList RBRACKET ;

ident : ID | MESH | TEST | ACC | ARRIVALS | AT | BARRIER | BLOCK | CLUSTER | CLUSTER_BARRIER | COLLECTIVE | COMPUTE
      | DELAY_RELEASE | FAST | GLOBAL | GMEM | GRID | LOAD | MEMORY | NONPORTABLE | OOB | PARALLEL | PEER | REGISTERS | REGS
      | SCRATCH | SEMAPHORE | SEQUENTIAL | SMEM | STAGES | STEP | STORE | SWIZZLE | TILED | TMEM | UNION | WG ;
