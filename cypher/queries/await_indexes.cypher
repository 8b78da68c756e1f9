// Wait until every index is online.
// Takes: seconds (whole number), the longest wait.
CALL db.awaitIndexes($seconds)
