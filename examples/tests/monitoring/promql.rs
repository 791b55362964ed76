//! What an expression names: metrics, matchers and labels. promtool says whether it is well-formed; this says
//! what it speaks of.

#[derive(Clone, Debug, PartialEq)]
enum Token {
    Word(String),
    Text(String),
    Sign(char),
}

/// One selector: a metric, its matchers, and whether a rate is taken of it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Selector {
    pub(crate) metric: String,
    pub(crate) matchers: Vec<(String, String)>,
    pub(crate) rated: bool,
}

/// Everything that one expression names.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Reading {
    pub(crate) selectors: Vec<Selector>,
    /// Labels in `by`, `without`, `on`, `ignoring`, `group_left`, `group_right`, and sources of `label_replace`.
    pub(crate) labels: Vec<String>,
    /// Labels that `label_replace` makes.
    pub(crate) made: Vec<String>,
}

fn tokens(expression: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut letters = expression.chars().peekable();
    while let Some(letter) = letters.next() {
        if letter == '"' {
            tokens.push(Token::Text(letters.by_ref().take_while(|next| *next != '"').collect()));
        } else if letter == '[' {
            // A range; its duration names nothing.
            letters.by_ref().take_while(|next| *next != ']').for_each(drop);
        } else if letter.is_alphanumeric() || letter == '_' || letter == '$' {
            let mut word = letter.to_string();
            while let Some(next) = letters.next_if(|next| next.is_alphanumeric() || "_:.".contains(*next)) {
                word.push(next);
            }
            tokens.push(Token::Word(word));
        } else if !letter.is_whitespace() {
            tokens.push(Token::Sign(letter));
        }
    }
    tokens
}

/// The words between the parentheses that open at `from`.
fn listed(tokens: &[Token], from: usize) -> Vec<String> {
    let inside = tokens[from..].iter().take_while(|token| **token != Token::Sign(')'));
    inside.filter_map(|token| if let Token::Word(word) = token { Some(word.clone()) } else { None }).collect()
}

fn matchers(tokens: &[Token], from: usize) -> Vec<(String, String)> {
    let inside: Vec<&Token> = tokens[from..].iter().take_while(|token| **token != Token::Sign('}')).collect();
    let mut found = Vec::new();
    let mut label = None;
    for token in inside {
        match token {
            Token::Word(word) => label = Some(word.clone()),
            Token::Text(value) => {
                found.push((label.take().expect("a matcher starts with a label"), value.clone()))
            }
            Token::Sign(_) => {}
        }
    }
    found
}

/// Reads one expression.
pub(crate) fn read(expression: &str) -> Reading {
    let tokens = tokens(expression);
    let mut reading = Reading::default();
    for (at, token) in tokens.iter().enumerate() {
        let Token::Word(word) = token else { continue };
        let opens = |sign| tokens.get(at + 1) == Some(&Token::Sign(sign));
        match word.as_str() {
            "by" | "without" | "on" | "ignoring" | "group_left" | "group_right" if opens('(') => {
                reading.labels.extend(listed(&tokens, at + 2));
            }
            "label_replace" => {
                let texts: Vec<&String> = tokens[at..]
                    .iter()
                    .filter_map(|token| if let Token::Text(text) = token { Some(text) } else { None })
                    .collect();
                // label_replace(v, to, "$1", from, pattern); the texts of matchers in v come before these.
                let replacement = texts.iter().position(|text| *text == "$1").expect("the replacement is $1");
                reading.made.push(texts[replacement - 1].clone());
                reading.labels.push(texts[replacement + 1].clone());
            }
            _ if word.starts_with("fair_") || word.contains(':') => {
                let rated = at >= 2
                    && tokens[at - 1] == Token::Sign('(')
                    && matches!(&tokens[at - 2], Token::Word(call) if call == "rate" || call == "increase");
                let matchers = if opens('{') { matchers(&tokens, at + 2) } else { Vec::new() };
                reading.selectors.push(Selector { metric: word.clone(), matchers, rated });
            }
            _ => {}
        }
    }
    reading
}
