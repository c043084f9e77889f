// Asks a mock server with the clients of its vendors, and prints what they make of it.
// node sdk.mjs openai|anthropic FOLDER ADDRESS FAULTS [KEY FAULTSKEY]: the folder has the package, and the
// server at FAULTS refuses each request in another way.
import { createRequire } from "node:module";
import path from "node:path";

const [, , vendor, folder, address, faults, key = "k", faultsKey = "k"] = process.argv;
const load = createRequire(path.join(folder, "package.json"));
const weather = { type: "object", properties: { city: { type: "string" } } };
const told = {};

// failed is the class of an error, its status, and what the vendor calls it.
async function failed(call) {
  try {
    return ["no error", (await call()).status];
  } catch (e) {
    return [e.constructor.name, e.status ?? null, e.type ?? null, e.code ?? e.requestID?.slice(0, 4) ?? null];
  }
}

async function openai() {
  const { OpenAI } = load("openai");
  const client = (base, apiKey) => new OpenAI({ apiKey, baseURL: base + "/v1", maxRetries: 0 });
  const o = client(address, key);
  const short = (r) => ({
    status: r.status, text: r.output_text, usage: [r.usage.input_tokens, r.usage.output_tokens, r.usage.output_tokens_details.reasoning_tokens],
    items: r.output.map((item) => item.type),
  });
  const ask = { model: "m", input: "think" };
  told.whole = short(await o.responses.create(ask));
  told.streamed = short(await o.responses.stream(ask).finalResponse());
  const tools = [{ type: "function", name: "get_weather", parameters: weather, strict: false }];
  for (const [name, create] of [
    ["tools", (p) => o.responses.create(p)],
    ["tools streamed", (p) => o.responses.stream(p).finalResponse()],
  ]) {
    const first = await create({ model: "m", input: "weather", tools });
    const calls = first.output.filter((item) => item.type === "function_call");
    const outputs = calls.map((c) => ({ type: "function_call_output", call_id: c.call_id, output: "rain" }));
    const input = [{ role: "user", content: "weather" }, ...first.output.map(({ parsed_arguments, ...item }) => item), ...outputs];
    told[name] = [short(first), calls.map((c) => [c.name, c.arguments]), short(await create({ model: "m", input, tools }))];
  }
  const cut = short(await o.responses.create({ model: "m", input: "long", max_output_tokens: 16 }));
  told.cut = [cut.status, cut.text.length];
  told.models = (await o.models.list()).data.map((m) => m.id);

  const c = { model: "m", messages: [{ role: "user", content: "weather" }], tools: [{ type: "function", function: { name: "get_weather", parameters: weather } }] };
  const brief = (r) => r.choices.map((x) => [x.finish_reason, x.message.content, x.message.tool_calls?.map((t) => [t.function.name, t.function.arguments])]);
  told.chat = brief(await o.chat.completions.create(c));
  told["chat streamed"] = brief(await o.chat.completions.stream(c).finalChatCompletion());

  const f = client(faults, faultsKey);
  told.errors = [];
  for (let i = 0; i < 7; i++) told.errors.push(await failed(() => f.responses.create(ask)));
  told.broken = [];
  for (let i = 0; i < 2; i++) told.broken.push(await failed(() => f.responses.stream(ask).finalResponse()));
}

async function anthropic() {
  const { Anthropic } = load("@anthropic-ai/sdk");
  const client = (base, apiKey) => new Anthropic({ apiKey, baseURL: base, maxRetries: 0 });
  const a = client(address, key);
  const short = (m) => ({
    stop: m.stop_reason, usage: [m.usage.input_tokens, m.usage.output_tokens],
    blocks: m.content.map((b) => [b.type, b.text ?? b.thinking ?? b.input]), signed: m.content.some((b) => b.signature),
  });
  const ask = { model: "m", max_tokens: 100, messages: [{ role: "user", content: "think" }] };
  told.whole = short(await a.messages.create(ask));
  told.streamed = short(await a.messages.stream(ask).finalMessage());
  const tools = [{ name: "get_weather", input_schema: weather }];
  for (const [name, create] of [
    ["tools", (p) => a.messages.create(p)],
    ["tools streamed", (p) => a.messages.stream(p).finalMessage()],
  ]) {
    const messages = [{ role: "user", content: "weather" }];
    const first = await create({ ...ask, messages, tools });
    messages.push({ role: "assistant", content: first.content });
    messages.push({
      role: "user",
      content: first.content.filter((b) => b.type === "tool_use").map((b) => ({ type: "tool_result", tool_use_id: b.id, content: "rain" })),
    });
    told[name] = [short(first), short(await create({ ...ask, messages, tools }))];
  }
  told.cut = short(await a.messages.create({ ...ask, max_tokens: 2, messages: [{ role: "user", content: "long" }] })).stop;
  told.counted = (await a.messages.countTokens({ model: "m", messages: ask.messages })).input_tokens;
  told.models = [];
  for await (const m of a.models.list()) told.models.push([m.id, m.display_name]);

  const f = client(faults, faultsKey);
  told.errors = [];
  for (let i = 0; i < 7; i++) told.errors.push(await failed(() => f.messages.create(ask)));
  told.broken = [];
  for (let i = 0; i < 2; i++) told.broken.push(await failed(() => f.messages.stream(ask).finalMessage()));
}

await { openai, anthropic }[vendor]();
console.log(JSON.stringify(told));
