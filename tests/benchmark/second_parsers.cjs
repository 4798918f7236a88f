// Parses a file by a package that NODE_PATH leads to; exits with 1 if it has a syntax error, with 2 if that is unknown.
// node second_parsers.cjs typescript|css-tree|parse5|scalameta-parsers FILE
const fs = require("fs");
const path = require("path");

const [, , name, file] = process.argv;
const text = fs.readFileSync(file, "utf-8");

function ofTypeScript(ts) {
  const kinds = { ".tsx": ts.ScriptKind.TSX, ".jsx": ts.ScriptKind.JSX, ".ts": ts.ScriptKind.TS };
  const kind = kinds[path.extname(file)] ?? ts.ScriptKind.JSX;
  return ts.createSourceFile(file, text, ts.ScriptTarget.Latest, false, kind).parseDiagnostics.map((one) => one.messageText);
}

function ofCss(csstree) {
  const errors = [];
  csstree.parse(text, { onParseError: (error) => errors.push(error.message) });
  // what it does not check: each bracket, string and comment has its end
  const open = [];
  csstree.tokenize(text, (type, start, end) => {
    const token = text.slice(start, end);
    if (/[({[]$/.test(token) && !/^["']/.test(token) && !token.startsWith("/*")) open.push(token.at(-1));
    else if (/^[)}\]]$/.test(token) && open.pop() !== { ")": "(", "}": "{", "]": "[" }[token]) errors.push(token);
    else if (csstree.tokenNames[type].startsWith("bad-")) errors.push(token);
    else if (/^["']/.test(token) && (token.length < 2 || token.at(-1) !== token[0])) errors.push(token);
    else if (token.startsWith("/*") && !token.endsWith("*/")) errors.push(token);
  });
  return [...errors, ...open];
}

// which tags are left open or closed for nothing it does not say: its errors are those of the standard's tokens
function ofHtml(parse5) {
  const errors = [];
  parse5.parse(text, { onParseError: (error) => errors.push(error.code) });
  return errors.filter((code) => code !== "missing-doctype");
}

function ofScala(scalameta) {
  const { error } = scalameta.parseSource(text);
  return error ? [error] : [];
}

const parsers = { "scalameta-parsers": ofScala, typescript: ofTypeScript, "css-tree": ofCss, parse5: ofHtml };
let errors;
try {
  errors = parsers[name](require(name));
} catch (error) {
  console.error(error.message);
  process.exit(2);
}
if (errors.length) console.log(errors.join("\n"));
process.exit(errors.length ? 1 : 0);
