// The language of the page: the first of the browser's languages that has a file, otherwise English.
const KNOWN = ["en"]; // one file each, such as en.js
const language = navigator.languages.map(tag => tag.split("-")[0]).find(tag => KNOWN.includes(tag)) ?? "en";

export const { texts } = await import(`./${language}.js`);
document.documentElement.lang = language;
