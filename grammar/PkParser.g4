// Syntax of pk. Iterative wherever programs may be long (chains of operators, prefixes, else-ifs), so that depth of
// the parser's stack is bounded by the nesting of brackets.
parser grammar PkParser;
options { tokenVocab = PkLexer; }

file : item EOF ;                       // the driver parses one item at a time
item : importDecl | constDecl | meshDecl | fnDecl | kernelDecl | testDecl ;

importDecl : IMPORT ident (DOT ident)* SEMI ;
constDecl : CONST ident (COLON type)? ASSIGN expr SEMI ;
meshDecl : MESH ident (LPAREN (meshParam (COMMA meshParam)* COMMA?)? RPAREN)? ASSIGN LPAREN axis (COMMA axis)* COMMA? RPAREN SEMI ;
meshParam : ident COLON type ;
axis : axisKind ident? (COLON expr NONPORTABLE?)? ;
axisKind : GRID | CLUSTER | WG ;

fnDecl : FN ident generics? LPAREN (fnParam (COMMA fnParam)* COMMA?)? RPAREN (ARROW type)? whereClause? block ;
fnParam : dirMode? ident COLON type attribute* ;
kernelDecl : KERNEL ident generics? LPAREN (kernelParam (COMMA kernelParam)* COMMA?)? RPAREN whereClause? placement? block ;
kernelParam : dirMode? ident COLON type blockSpec? ;
dirMode : IN | OUT | INOUT ;
blockSpec : BLOCK LBRACKET exprList RBRACKET AT LBRACKET exprList RBRACKET attribute* ;
generics : LT generic (COMMA generic)* COMMA? GT ;
generic : ident COLON ident (OR ident)* (ASSIGN add)? ;
whereClause : WHERE expr (COMMA expr)* ;
placement : meshUse | blockedGrid ;
meshUse : MESH (LPAREN axis (COMMA axis)* COMMA? RPAREN | ident (LPAREN exprList? RPAREN)?) ;
blockedGrid : GRID LPAREN blockedAxis (COMMA blockedAxis)* COMMA? RPAREN attribute* scratch? ;
blockedAxis : ident COLON (PARALLEL | SEQUENTIAL)? expr ;
scratch : SCRATCH LPAREN alloc (COMMA alloc)* COMMA? RPAREN ;

type : LPAREN type (COMMA type)+ RPAREN | space? ident (LBRACKET (ELLIPSIS | exprList)? RBRACKET)? ;
space : GMEM | SMEM | ACC | TMEM | REGS ;

testDecl : TEST ident block ;

block : LBRACE stmt* RBRACE ;
stmt
  : (LET | VAR) pattern (COLON type)? ASSIGN expr SEMI                                   # letStmt
  | constDecl                                                                            # constStmt
  | ifStmt                                                                               # ifStatement
  | UNROLL? FOR ident IN expr DOTDOT expr (STEP expr)? block                             # forStmt
  | WHILE expr block                                                                     # whileStmt
  | BREAK SEMI                                                                           # breakStmt
  | CONTINUE SEMI                                                                        # continueStmt
  | RETURN expr? SEMI                                                                    # returnStmt
  | SCOPED collective? LPAREN alloc (COMMA alloc)* COMMA? RPAREN block                   # scopedStmt
  | SPECIALIZE ident LBRACE arm+ RBRACE                                                  # specializeStmt
  | PIPELINE pipeRanges (pipeRoles | attribute)* (transfer (COMMA transfer)* COMMA?)? COMPUTE? block   # pipelineStmt
  | STEP block                                                                           # stepStmt
  | FAST block                                                                           # fastStmt
  | EXPECT_ERROR LPAREN expr RPAREN block                                                # expectErrorStmt
  | block                                                                                # blockStmt
  | expr (assignOp expr)? SEMI                                                           # exprStmt
  ;
ifStmt : IF expr block (ELSE IF expr block)* (ELSE block)? ;
pattern : ident | LPAREN ident (COMMA ident)+ COMMA? RPAREN ;
assignOp : ASSIGN | PLUS_ASSIGN | MINUS_ASSIGN | STAR_ASSIGN | SLASH_ASSIGN | PERCENT_ASSIGN | AND_ASSIGN | OR_ASSIGN
         | XOR_ASSIGN | SHL_ASSIGN | SHR_ASSIGN ;

collective : COLLECTIVE LPAREN ident (COMMA ident)* COMMA? RPAREN ;
alloc : UNION LBRACE alloc (COMMA alloc)* COMMA? RBRACE
      | ident COLON type attribute* (ASSIGN expr)? ;
attribute : attributeName LPAREN exprList RPAREN | GLOBAL ;
attributeName : ARRIVALS | TILED | SWIZZLE | COLLECTIVE | OOB | DELAY_RELEASE | STAGES ;

arm : armSelector registers? FATARROW block COMMA? ;
armSelector : ELSE | exprList ;
registers : REGISTERS LPAREN expr RPAREN ;

pipeRanges : ident IN expr DOTDOT expr
           | LPAREN ident (COMMA ident)* RPAREN IN LPAREN pipeRange (COMMA pipeRange)* RPAREN ;
pipeRange : expr DOTDOT expr ;
pipeRoles : SPECIALIZE LPAREN ident COMMA MEMORY expr registers? COMMA COMPUTE expr (COMMA expr)* registers? RPAREN ;
transfer : (LOAD | STORE) ident ASSIGN expr attribute* ;

exprList : expr (COMMA expr)* COMMA? ;
expr : andExpr (OROR andExpr)* ;
andExpr : cmpExpr (ANDAND cmpExpr)* ;
cmpExpr : bitOr (cmpOp bitOr)* ;        // more than one is refused by the tree builder, with a message of its own
cmpOp : EQ | NE | LT | GT | LE | GE ;
bitOr : bitXor (OR bitXor)* ;
bitXor : bitAnd (XOR bitAnd)* ;
bitAnd : shift (AND shift)* ;
shift : add (shiftOp add)* ;
shiftOp : SHL | GT GT ;
add : mul ((PLUS | MINUS) mul)* ;
mul : cast ((STAR | SLASH | PERCENT) cast)* ;
cast : unary (AS ident)* ;
unary : (MINUS | NOT | TILDE)* operand ;
operand : launch | postfix ;
launch : LAUNCH ident genericArgs? LPAREN args? RPAREN ;
postfix : primary suffix* ;
suffix : DOT AT index                                     # atSuffix
       | DOT PEER LBRACKET args RBRACKET                  # peerSuffix
       | DOT ident                                        # memberSuffix
       | index                                            # indexSuffix
       | genericArgs? LPAREN args? RPAREN                 # callSuffix
       ;
genericArgs : LT genericArg (COMMA genericArg)* COMMA? GT ;
genericArg : (ident ASSIGN)? add ;
index : LBRACKET indexEntry (COMMA indexEntry)* COMMA? RBRACKET ;
indexEntry : ELLIPSIS
           | NEW
           | expr PLUSCOLON expr
           | expr COLON expr?
           | COLON expr?
           | expr
           ;
args : arg (COMMA arg)* COMMA? ;
arg : OOB LPAREN ident RPAREN | (ident ASSIGN)? expr ;
primary : INT | FLOAT | STRING | TRUE | FALSE | INF_ | NAN_ | ident
        | LPAREN exprList RPAREN | LBRACE exprList RBRACE | LBRACKET exprList RBRACKET ;

ident : ID | MESH | TEST | ACC | ARRIVALS | AT | BARRIER | BLOCK | CLUSTER | CLUSTER_BARRIER | COLLECTIVE | COMPUTE
      | DELAY_RELEASE | FAST | GLOBAL | GMEM | GRID | LOAD | MEMORY | NEW | NONPORTABLE | OOB | PARALLEL | PEER | REGISTERS | REGS
      | SCRATCH | SEMAPHORE | SEQUENTIAL | SMEM | STAGES | STEP | STORE | SWIZZLE | TILED | TMEM | UNION | WG ;
