// Types lines with node-llama-cpp: `node llama.mjs FOLDER GGUF THREADS` reads one JSON string a line (the text before the
// cursor) and answers each with {"text", "ms", "n_tokens"}; FOLDER is where `npm i node-llama-cpp` was run.
import path from "node:path";
import readline from "node:readline";
import {pathToFileURL} from "node:url";

const [folder, gguf, threads] = process.argv.slice(2);
const entry = path.resolve(folder, "node_modules/node-llama-cpp/dist/index.js");
const {getLlama, LlamaLogLevel} = await import(pathToFileURL(entry));
const llama = await getLlama({gpu: false, build: "never", logLevel: LlamaLogLevel.error, maxThreads: Number(threads)});
const model = await llama.loadModel({modelPath: gguf, gpuLayers: 0});
const context = await model.createContext({contextSize: 1024, threads: Number(threads)});
const sequence = context.getSequence();
const maxTokens = 40;

async function typeLine(tokens) {
    await sequence.adaptStateToTokens(tokens.slice(0, -1), false);
    const typed = [];
    for await (const token of sequence.evaluate(tokens.slice(sequence.nextTokenIndex), {temperature: 0})) {
        if (model.isEogToken(token) || model.detokenize([token]).includes("\n")) break;
        typed.push(token);
        if (typed.length >= maxTokens) break;
    }
    return typed;
}

for await (const line of readline.createInterface({input: process.stdin})) {
    const tokens = model.tokenize(JSON.parse(line));
    await typeLine(tokens);
    const began = performance.now();
    const typed = await typeLine(tokens);
    const ms = performance.now() - began;
    console.log(JSON.stringify({text: model.detokenize(typed), ms, n_tokens: typed.length + 1}));
}
process.exit(0);
