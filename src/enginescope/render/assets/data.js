"use strict";
// What the page shows, read once; its other scripts share it.
const reportData = JSON.parse(document.getElementById("report-data").textContent);
