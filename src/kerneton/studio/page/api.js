// Requests to the server with the token, and state changes over a socket.
const address = new URL(location.href);
if (address.searchParams.has("token")) {
  sessionStorage.setItem("kerneton-token", address.searchParams.get("token"));
  address.searchParams.delete("token");
  history.replaceState(null, "", address);
}
export const token = sessionStorage.getItem("kerneton-token") ?? "";

export class ApiError extends Error {
  constructor(status, text) { super(text); this.status = status; }
}

async function ask(path, options = {}) {
  let answer;
  try {
    answer = await fetch(`/api/${path}`, { ...options, headers: { "X-Kerneton-Token": token, ...options.headers } });
  } catch {
    throw new ApiError(0, "offline");
  }
  if (answer.ok) return answer;
  const text = await answer.text();
  let told = text;
  try { told = JSON.parse(text).error ?? text; } catch { /* plain text */ }
  throw new ApiError(answer.status, told);
}

export const get = async (path, query = {}) => (await ask(`${path}?${new URLSearchParams(query)}`)).json();
export const blob = async (path, query = {}) => (await ask(`${path}?${new URLSearchParams(query)}`)).blob();
export const post = async (path, told = {}) => {
  const body = JSON.stringify(told), keepalive = body.length < 20000; // small changes are sent even when the page is closed
  return (await ask(path, { method: "POST", body, keepalive, headers: { "Content-Type": "application/json" } })).json();
};
export const put = async (path, query, body) =>
  (await ask(`${path}?${new URLSearchParams(query)}`, { method: "PUT", body, headers: { "Content-Type": "application/octet-stream" } })).json();

export const socket = path => new WebSocket(`ws://${location.host}/api/${path}`, ["kerneton", token]);
export const newBatch = () => Array.from(crypto.getRandomValues(new Uint8Array(12)), b => b.toString(16).padStart(2, "0")).join("");
