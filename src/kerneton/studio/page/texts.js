// The language of the page: the first of the browser's that there is a file for, else English.
const KNOWN = ["en"]; // a file each, such as en.js
const language = navigator.languages.map(tag => tag.split("-")[0]).find(tag => KNOWN.includes(tag)) ?? "en";

export const { texts } = await import(`./${language}.js`);
document.documentElement.lang = language;
