/** As the Python files have it. */
export default { printWidth: 110 };
