// 👋 Greetings, for trying completions on.
const greetings = { en: "hello 👋", fr: "bonjour", de: "hallo" };

function greet(name, language) {
	const greeting = greetings[language];
	if (!greeting) {
		throw new Error(`unknown language: ${}`);
	}
	return `${greeting}, ${name}!`;
}

console.log(greet("Zoë", "fr"));
