BEGIN { print "" > header; print "" > source }
