// @ts-check
/**
 * Reads what a onesided service has published, and draws it with the service's own pictures.
 * An ES module without dependencies. On a page of another site the service must name that
 * site among its `origins`. Nothing here needs a token.
 * @module onesided
 */

/** @typedef {{id: string, dataset: string, title: string, time: string}} Listed */
/** @typedef {Listed & {page: string, sentences: string[][], release: any}} Release */
/** @typedef {{name: string, title: string}} Monitor */

/** Where this module came from. @type {string} */
const HERE = new URL("..", import.meta.url).href;

/**
 * @param {string} path
 * @param {string} [service] the service's address; by default the one that serves this module
 * @returns {URL}
 */
const at = (path, service = HERE) => new URL(`api/v1/${path}`, service.endsWith("/") ? service : `${service}/`);

/** @param {URL} address @returns {Promise<any>} */
const read = async (address) => {
  const answer = await fetch(address, { credentials: "omit", headers: { Accept: "application/json" } });
  const told = await answer.json();
  if (!answer.ok) throw new Error(told.error?.message ?? `The service answered ${answer.status}.`);
  return told;
};

/** All that was published, the latest first. @param {string} [service] @returns {Promise<Listed[]>} */
export const releases = (service) => read(at("published", service));

/** One release, with its sentences. @param {string} id @param {string} [service] @returns {Promise<Release>} */
export const release = (id, service) => read(at(`published/${encodeURIComponent(id)}`, service));

/** All live monitors. @param {string} [service] @returns {Promise<Monitor[]>} */
export const monitors = (service) => read(at("monitors", service));

/** What a monitor says now. @param {string} name @param {string} [service] @returns {Promise<any>} */
export const monitor = (name, service) => read(at(`monitors/${encodeURIComponent(name)}`, service));

/** The address of a release's picture. @param {string} id @param {number} [part] @param {string} [service] @returns {string} */
export const picture = (id, part = 1, service = undefined) => `${at(`published/${encodeURIComponent(id)}.svg`, service)}?part=${part}`;

/**
 * Put a release into an element: its title, its pictures, what each is about and promises.
 * Text is set as text; pictures are images, which run no script.
 * @param {Element} where
 * @param {string} id
 * @param {string} [service]
 * @returns {Promise<Release>}
 */
export const draw = async (where, id, service) => {
  const found = await release(id, service);
  /** @type {Element[]} */
  const parts = [];
  /** @param {string} tag @param {string} [words] */
  const made = (tag, words = "") => Object.assign(document.createElement(tag), { textContent: words });
  const heading = made("h2"), link = /** @type {HTMLAnchorElement} */ (made("a", found.title));
  link.href = found.page;
  heading.append(link);
  found.sentences.forEach((said, place) => {
    const figure = made("figure"), image = /** @type {HTMLImageElement} */ (made("img")), caption = made("figcaption", said.join(" "));
    image.alt = said.join(" ");
    image.style.maxWidth = "100%";
    image.addEventListener("error", () => image.remove());
    image.src = picture(id, place + 1, service);
    figure.append(image, caption);
    parts.push(figure);
  });
  where.replaceChildren(heading, ...parts);
  return found;
};
