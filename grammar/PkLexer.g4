// Tokens of pk. The input is bytes: names are ASCII, UTF-8 may stand in comments and strings.
//
// Some tokens have two uses that only a look at their surroundings tells apart. frontend/src/brackets.cpp does that for all
// of an item before it is parsed and gives the second use a type of its own, so that the parser decides everything with one
// token of lookahead.
lexer grammar PkLexer;

channels { COMMENTS }
tokens {
  LANGLE,       // the `<` of generics
  LSET,         // the `{` of a set: `{0, 1}`
  LAST_COMMA,   // a `,` before a closing bracket
  BLOCK_COMMENT
}

IMPORT : 'import' ;
CONST : 'const' ;
MESH : 'mesh' ;
FN : 'fn' ;
KERNEL : 'kernel' ;
TEST : 'test' ;
WHERE : 'where' ;
IN : 'in' ;
OUT : 'out' ;
INOUT : 'inout' ;
LET : 'let' ;
VAR : 'var' ;
IF : 'if' ;
ELSE : 'else' ;
UNROLL : 'unroll' ;
FOR : 'for' ;
WHILE : 'while' ;
BREAK : 'break' ;
CONTINUE : 'continue' ;
RETURN : 'return' ;
SCOPED : 'scoped' ;
SPECIALIZE : 'specialize' ;
PIPELINE : 'pipeline' ;
LAUNCH : 'launch' ;
NEW : 'new' ;
AS : 'as' ;
EXPECT_ERROR : 'expect_error' ;
TRUE : 'true' ;
FALSE : 'false' ;
INF_ : 'inf' ;
NAN_ : 'nan' ;

// Words that are names wherever a name is expected.
ACC : 'acc' ;
ARRIVALS : 'arrivals' ;
AT : 'at' ;
BARRIER : 'barrier' ;
BLOCK : 'block' ;
CLUSTER : 'cluster' ;
CLUSTER_BARRIER : 'cluster_barrier' ;
COLLECTIVE : 'collective' ;
COMPUTE : 'compute' ;
DELAY_RELEASE : 'delay_release' ;
FAST : 'fast' ;
GLOBAL : 'global' ;
GMEM : 'gmem' ;
GRID : 'grid' ;
LOAD : 'load' ;
MEMORY : 'memory' ;
NONPORTABLE : 'nonportable' ;
OOB : 'oob' ;
PARALLEL : 'parallel' ;
PEER : 'peer' ;
REGISTERS : 'registers' ;
REGS : 'regs' ;
SCRATCH : 'scratch' ;
SEMAPHORE : 'semaphore' ;
SEQUENTIAL : 'sequential' ;
SMEM : 'smem' ;
STAGES : 'stages' ;
STEP : 'step' ;
STORE : 'store' ;
SWIZZLE : 'swizzle' ;
TILED : 'tiled' ;
TMEM : 'tmem' ;
UNION : 'union' ;
WG : 'wg' ;

ELLIPSIS : '...' ;
DOTDOT : '..' ;
DOT : '.' ;
ARROW : '->' ;
FATARROW : '=>' ;
PLUSCOLON : '+:' ;
SHL_ASSIGN : '<<=' ;
SHR_ASSIGN : '>>=' ;
SHL : '<<' ;
SHR : '>>' ;
LE : '<=' ;
GE : '>=' ;
EQ : '==' ;
NE : '!=' ;
ANDAND : '&&' ;
OROR : '||' ;
PLUS_ASSIGN : '+=' ;
MINUS_ASSIGN : '-=' ;
STAR_ASSIGN : '*=' ;
SLASH_ASSIGN : '/=' ;
PERCENT_ASSIGN : '%=' ;
AND_ASSIGN : '&=' ;
OR_ASSIGN : '|=' ;
XOR_ASSIGN : '^=' ;
LT : '<' ;
GT : '>' ;
ASSIGN : '=' ;
PLUS : '+' ;
MINUS : '-' ;
STAR : '*' ;
SLASH : '/' ;
PERCENT : '%' ;
AND : '&' ;
OR : '|' ;
XOR : '^' ;
NOT : '!' ;
TILDE : '~' ;
LPAREN : '(' ;
RPAREN : ')' ;
LBRACKET : '[' ;
RBRACKET : ']' ;
LBRACE : '{' ;
RBRACE : '}' ;
COMMA : ',' ;
SEMI : ';' ;
COLON : ':' ;

FLOAT : [0-9] [0-9_]* '.' [0-9] [0-9_]* ([eE] [+-]? [0-9]+)? | [0-9] [0-9_]* [eE] [+-]? [0-9]+ ;
INT : '0x' [0-9a-fA-F_]+ | '0b' [01_]+ | [0-9] [0-9_]* ;
STRING : '"' (~["\\\r\n] | '\\' ~[\r\n])* '"' ;
ID : [a-zA-Z_] [a-zA-Z_0-9]* ;

WS : [ \t\r\n\f]+ -> skip ;
LINE_COMMENT : '//' ~[\n]* -> channel(COMMENTS) ;
COMMENT_OPEN : '/*' ;                // the driver finds the end, counting nested comments
UNTERMINATED_STRING : '"' (~["\\\r\n] | '\\' ~[\r\n])* ;
STRAY : . ;
